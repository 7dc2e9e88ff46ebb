#include "retrieval/index_stats.h"
#include "base/json.h"
#include "base/mem.h"
#include "retrieval/index_db.h"

#include <stdlib.h>
#include <string.h>

static int count_of(struct index_db *db, const char *sql, json_t *stats, const char *key,
                    struct err *err)
{
    sqlite3_stmt *statement;
    int result = index_db_prepare(db, sql, &statement, err);
    if (result == 0)
        result = index_db_step(db, statement, err);
    if (result > 0)
        json_put(stats, key, json_integer(sqlite3_column_int64(statement, 0)));
    sqlite3_finalize(statement);
    return result < 0 ? result : 0;
}

/* {NAME: COUNT} */
static int counts_of(struct index_db *db, const char *sql, json_t *stats, const char *key,
                     struct err *err)
{
    sqlite3_stmt *statement;
    json_t *counts = json_object();
    int result = index_db_prepare(db, sql, &statement, err);
    while (result == 0 && (result = index_db_step(db, statement, err)) > 0) {
        json_put(counts, index_db_text(statement, 0),
                 json_integer(sqlite3_column_int64(statement, 1)));
        result = 0;
    }
    sqlite3_finalize(statement);
    json_put(stats, key, counts);
    return result;
}

static int fact_of(struct index_db *db, const char *name, json_t *stats, struct err *err)
{
    char *value;
    int result = index_db_fact(db, name, &value, err);
    json_put(stats, name, json_text(value));
    mem_free(value);
    return result;
}

static int sources_of(struct index_db *db, json_t *stats, struct err *err)
{
    char *value;
    json_t *sources = NULL;
    int result = index_db_fact(db, "sources", &value, err);
    if (result == 0 && value)
        result = json_parse(db->path, value, strlen(value), &sources, err);
    json_put(stats, "sources", sources ? sources : json_array());
    mem_free(value);
    return result;
}

static int embeddings_facts(struct index_db *db, json_t *stats, struct err *err)
{
    char *model = NULL, *dimension = NULL;
    json_t *embeddings = json_null();
    int result = index_db_fact(db, "embeddings_model", &model, err);
    if (result == 0)
        result = index_db_fact(db, "dimension", &dimension, err);
    if (result == 0 && model && dimension) {
        embeddings = json_object();
        json_put(embeddings, "model", json_text(model));
        json_put(embeddings, "dimension", json_integer(strtoll(dimension, NULL, 10)));
    }
    json_put(stats, "embeddings", embeddings);
    mem_free(model);
    mem_free(dimension);
    return result;
}

int index_stats(const char *directory, json_t **stats, struct err *err)
{
    struct index_db db;
    *stats = NULL;
    int result = index_db_open(&db, directory, err);
    if (result < 0)
        return result;
    json_t *object = json_object();
    json_put(object, "directory", json_text(directory));
    json_put(object, "format", json_integer(INDEX_FORMAT));
    result = fact_of(&db, "created_at", object, err);
    if (result == 0)
        result = count_of(&db, "select coalesce(sum(examples), 0) from languages", object,
                          "examples", err);
    if (result == 0)
        result = count_of(&db, "select count(*) from refs", object, "references", err);
    if (result == 0)
        result = count_of(&db, "select count(*) from terms", object, "terms", err);
    if (result == 0)
        result = counts_of(&db, "select name, examples from languages order by number", object,
                           "languages", err);
    if (result == 0)
        result = counts_of(&db,
                           "select category, count(*) from examples where category <> ''"
                           " group by category order by category",
                           object, "categories", err);
    if (result == 0)
        result = embeddings_facts(&db, object, err);
    if (result == 0)
        result = sources_of(&db, object, err);
    index_db_close(&db);
    if (result < 0)
        json_decref(object);
    else
        *stats = object;
    return result;
}
