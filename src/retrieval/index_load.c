#include "retrieval/index_load.h"

#include "retrieval/sketch.h"

#include <stdio.h>
#include <string.h>

int index_load_begin(struct index_load *load, struct index_db *db, struct err *err)
{
    memset(load, 0, sizeof *load);
    load->db = db;
    int result = index_db_prepare(db,
                                  "insert into refs (hash, sketch, text) values (?1, ?2, ?3)"
                                  " on conflict do nothing",
                                  &load->add_ref, err);
    if (result == 0)
        result = index_db_prepare(db, "select id from refs where hash = ?1", &load->find_ref, err);
    if (result == 0)
        result = index_db_prepare(db,
                                  "insert into examples values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
                                  " ?9, ?10, ?11) on conflict do nothing",
                                  &load->add_example, err);
    return result;
}

void index_load_deinit(struct index_load *load)
{
    sqlite3_finalize(load->add_ref);
    sqlite3_finalize(load->find_ref);
    sqlite3_finalize(load->add_example);
}

static void hash_of(const char *one, const char *two, char hex[HASH_HEX_BYTES])
{
    struct hash *hash = hash_new();
    hash_update_string(hash, one);
    hash_update_string(hash, two);
    hash_finish(hash, hex);
}

static int find_language(struct index_load *load, const char *name, size_t *number)
{
    for (size_t i = 0; i < load->language_count; i++)
        if (strcmp(load->languages[i].name, name) == 0) {
            *number = i;
            return 0;
        }
    if (load->language_count == LIMIT_LANGUAGES)
        return err_set(&load->err, ERR_LIMIT, "an index holds examples of %d languages at most",
                       LIMIT_LANGUAGES);
    *number = load->language_count++;
    snprintf(load->languages[*number].name, sizeof load->languages[*number].name, "%s", name);
    return 0;
}

static int step_and_reset(struct index_load *load, sqlite3_stmt *statement)
{
    int result = index_db_step(load->db, statement, &load->err);
    sqlite3_reset(statement);
    return result;
}

static void bind_text(sqlite3_stmt *statement, int column, const char *text)
{
    sqlite3_bind_text(statement, column, text, -1, SQLITE_STATIC);
}

static void bind_sketch(sqlite3_stmt *statement, int column, const char *text)
{
    unsigned char bytes[SKETCH_BYTES];
    struct sketch sketch;
    sketch_of(text, strlen(text), &sketch);
    sqlite3_bind_blob(statement, column, bytes, (int)sketch_write(&sketch, bytes),
                      SQLITE_TRANSIENT);
}

/* Stores a reference text once; *id is its number. */
static int put_reference(struct index_load *load, const char *text, sqlite3_int64 *id)
{
    char hash[HASH_HEX_BYTES];
    hash_of(text, "", hash);
    bind_text(load->find_ref, 1, hash);
    int result = index_db_step(load->db, load->find_ref, &load->err);
    *id = result > 0 ? sqlite3_column_int64(load->find_ref, 0) : 0;
    sqlite3_reset(load->find_ref);
    if (result != 0)
        return result < 0 ? result : 0;
    bind_text(load->add_ref, 1, hash);
    bind_sketch(load->add_ref, 2, text);
    bind_text(load->add_ref, 3, text);
    result = step_and_reset(load, load->add_ref);
    *id = sqlite3_last_insert_rowid(load->db->handle);
    return result;
}

int index_load_add(struct index_load *load, const struct example *example)
{
    char hash[HASH_HEX_BYTES];
    sqlite3_stmt *add = load->add_example;
    sqlite3_int64 reference = 0;
    size_t language = 0;
    int result = find_language(load, example->language, &language);
    if (result == 0)
        result = put_reference(load, example->reference, &reference);
    if (result < 0)
        return result;
    uint64_t next = load->languages[language].count + 1;
    hash_of(example->reference, example->solution, hash);
    sqlite3_bind_int64(add, 1, (sqlite3_int64)((uint64_t)language << INDEX_LANGUAGE_SHIFT | next));
    bind_text(add, 2, hash);
    sqlite3_bind_int64(add, 3, reference);
    bind_sketch(add, 4, example->solution);
    sqlite3_bind_double(add, 5, example->speedup);
    bind_text(add, 6, example->problem);
    bind_text(add, 7, example->category);
    bind_text(add, 8, example->source);
    bind_text(add, 9, example->name);
    bind_text(add, 10, example->summary);
    bind_text(add, 11, example->solution);
    result = step_and_reset(load, add);
    bool added = result == 0 && sqlite3_changes(load->db->handle) > 0;
    load->languages[language].count += added;
    load->total += added;
    load->duplicates += result == 0 && !added;
    return result;
}

int index_load_end(struct index_load *load, struct err *err)
{
    sqlite3_stmt *add;
    sqlite3_int64 row = 0;
    int result = index_db_prepare(load->db, "insert into languages values (?1, ?2, ?3, ?4)", &add,
                                  err);
    for (size_t i = 0; i < load->language_count && result == 0; i++) {
        sqlite3_bind_int64(add, 1, (sqlite3_int64)i);
        bind_text(add, 2, load->languages[i].name);
        sqlite3_bind_int64(add, 3, (sqlite3_int64)load->languages[i].count);
        sqlite3_bind_int64(add, 4, row);
        result = index_db_step(load->db, add, err);
        sqlite3_reset(add);
        row += (sqlite3_int64)load->languages[i].count;
    }
    sqlite3_finalize(add);
    return result;
}
