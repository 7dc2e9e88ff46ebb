#include "retrieval/retrieval.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "retrieval/embeddings.h"
#include "retrieval/index_db.h"
#include "retrieval/leak_guard.h"
#include "retrieval/rank.h"
#include "retrieval/retrieval_settings.h"
#include "retrieval/vectors.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 64 /* candidates that the guard sees before the first is taken */
#define EMBEDDED_BYTES ((size_t)65536)

enum { FIND_TERM, RANK, SKETCHES, SHOW, FASTEST, OF_PROBLEM, STATEMENTS };

static const char *const statement_texts[STATEMENTS] = {
    [FIND_TERM] = QUERY_TERMS_FIND,
    [RANK] = RANK_BY_WORDS,
    [SKETCHES] = "select e.problem, e.reference, e.sketch, r.sketch from examples e"
                 " join refs r on r.id = e.reference where e.id = ?1",
    [SHOW] = "select e.name, e.summary, e.source, l.name, e.category, e.problem, r.text,"
             " e.solution, e.speedup from examples e join refs r on r.id = e.reference"
             " join languages l on l.number = e.id >> 32 where e.id = ?1",
    [FASTEST] = "select id from examples where reference = ?1 and id >> 32 = ?2 >> 32"
                " order by speedup desc, id = ?2 desc, id limit 1",
    [OF_PROBLEM] = "select sketch from examples where problem = ?1 and problem <> '' limit ?2",
};

struct retrieval {
    pthread_mutex_t mutex; /* protects the database; the one below the endpoint's client */
    pthread_mutex_t embedding;
    struct index_db db;
    sqlite3_stmt *statements[STATEMENTS];
    struct rank_language languages[LIMIT_LANGUAGES];
    size_t language_count;
    uint64_t examples;
    struct vectors vectors; /* no data: text search only */
    struct embeddings *embeddings;
    enum retrieval_ranking ranking;
    struct leak_guard *withheld;
    size_t withheld_count;
};

static int read_languages(struct retrieval *retrieval, struct err *err)
{
    sqlite3_stmt *each;
    int result = index_db_prepare(&retrieval->db,
                                  "select name, number, examples, first_row from languages"
                                  " order by number",
                                  &each, err);
    while (result == 0 && (result = index_db_step(&retrieval->db, each, err)) > 0) {
        result = 0;
        if (retrieval->language_count == LIMIT_LANGUAGES)
            break;
        struct rank_language *range = &retrieval->languages[retrieval->language_count++];
        range->name = mem_strdup(index_db_text(each, 0));
        range->number = (uint64_t)sqlite3_column_int64(each, 1);
        range->examples = (uint64_t)sqlite3_column_int64(each, 2);
        range->first_row = (uint64_t)sqlite3_column_int64(each, 3);
        retrieval->examples += range->examples;
    }
    sqlite3_finalize(each);
    return result;
}

/* Vectors of different models cannot be compared. */
static int open_vectors(struct retrieval *retrieval, const char *directory,
                        const struct settings *settings, struct err *err)
{
    char *model = NULL, *dimension = NULL;
    int result = index_db_fact(&retrieval->db, "embeddings_model", &model, err);
    if (result == 0)
        result = index_db_fact(&retrieval->db, "dimension", &dimension, err);
    retrieval->ranking = retrieval_settings(settings)->ranking;
    bool wanted = result == 0 && model && dimension && embeddings_wanted(settings) &&
                  retrieval->ranking != RETRIEVAL_WORDS;
    if (result == 0 && retrieval->ranking == RETRIEVAL_VECTORS && !(model && dimension))
        result = err_set(err, ERR_INPUT,
                         "retrieval.ranking is vectors, and %s has none: build it with "
                         "--embeddings",
                         directory);
    if (wanted)
        result = embeddings_open(&retrieval->embeddings, settings, NULL, err);
    if (wanted && result == 0 && strcmp(model, embeddings_model(retrieval->embeddings)) != 0)
        result = err_set(err, ERR_INPUT,
                         "%s: was built with embeddings of '%.100s', and "
                         "retrieval.embeddings_model is '%.100s'",
                         directory, model, embeddings_model(retrieval->embeddings));
    if (wanted && result == 0) {
        char *path = mem_printf("%s/" INDEX_VECTORS, directory);
        result = vectors_open(&retrieval->vectors, path, retrieval->examples,
                              strtoull(dimension, NULL, 10), err);
        mem_free(path);
    }
    mem_free(model);
    mem_free(dimension);
    return result;
}

int retrieval_open(struct retrieval **out, const char *directory, const struct settings *settings,
                   struct err *err)
{
    *out = NULL;
    if (!directory || directory[0] == '\0')
        directory = retrieval_settings(settings)->directory;
    if (directory[0] == '\0')
        return err_set(err, ERR_INPUT, "retrieval.directory is empty: name an index");
    struct retrieval *retrieval = mem_alloc(sizeof *retrieval);
    pthread_mutex_init(&retrieval->mutex, NULL);
    pthread_mutex_init(&retrieval->embedding, NULL);
    int result = index_db_open(&retrieval->db, directory, err);
    for (int i = 0; i < STATEMENTS && result == 0; i++)
        result = index_db_prepare(&retrieval->db, statement_texts[i], &retrieval->statements[i],
                                  err);
    if (result == 0)
        result = read_languages(retrieval, err);
    if (result == 0)
        result = open_vectors(retrieval, directory, settings, err);
    if (result < 0)
        retrieval_close(retrieval);
    else
        *out = retrieval;
    return result;
}

void retrieval_close(struct retrieval *retrieval)
{
    if (!retrieval)
        return;
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(retrieval->statements[i]);
    for (size_t i = 0; i < retrieval->language_count; i++)
        mem_free(retrieval->languages[i].name);
    for (size_t i = 0; i < retrieval->withheld_count; i++)
        leak_guard_deinit(&retrieval->withheld[i]);
    mem_free(retrieval->withheld);
    vectors_close(&retrieval->vectors);
    embeddings_close(retrieval->embeddings);
    index_db_close(&retrieval->db);
    pthread_mutex_destroy(&retrieval->mutex);
    pthread_mutex_destroy(&retrieval->embedding);
    mem_free(retrieval);
}

struct search {
    struct retrieval *retrieval;
    const struct retrieval_query *query;
    float *vector; /* of the query; NULL: text search only */
    struct ranking ranking;
    struct leak_guard guard;
};

struct facts {
    char problem[LIMIT_NAME_BYTES];
    int64_t reference_id;
    struct sketch reference, solution;
};

static int read_facts(struct retrieval *retrieval, int64_t id, struct facts *facts, struct err *err)
{
    sqlite3_stmt *statement = retrieval->statements[SKETCHES];
    sqlite3_bind_int64(statement, 1, id);
    int result = index_db_step(&retrieval->db, statement, err);
    if (result == 0)
        result = err_set(err, ERR_PROTOCOL, "%s: an example is missing: rebuild the index",
                         retrieval->db.path);
    if (result > 0) {
        const char *problem = index_db_text(statement, 0);
        size_t length = strnlen(problem, sizeof facts->problem - 1);
        memcpy(facts->problem, problem, length);
        facts->problem[length] = '\0';
        facts->reference_id = sqlite3_column_int64(statement, 1);
        result = sketch_read(&facts->solution, sqlite3_column_blob(statement, 2),
                             (size_t)sqlite3_column_bytes(statement, 2), err);
    }
    if (result == 0)
        result = sketch_read(&facts->reference, sqlite3_column_blob(statement, 3),
                             (size_t)sqlite3_column_bytes(statement, 3), err);
    sqlite3_reset(statement);
    return result;
}

/* Adds the solutions of the problem itself to the guard, even if the search does not find them. */
static int guard_known_solutions(struct search *search, struct err *err)
{
    struct retrieval *retrieval = search->retrieval;
    sqlite3_stmt *statement = retrieval->statements[OF_PROBLEM];
    struct sketch sketch;
    int result = 0;
    if (search->guard.off || !search->guard.problem_id)
        return 0;
    sqlite3_bind_text(statement, 1, search->guard.problem_id, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, LEAK_GUARD_SOLUTIONS / 2);
    while (result == 0 && (result = index_db_step(&retrieval->db, statement, err)) > 0) {
        result = sketch_read(&sketch, sqlite3_column_blob(statement, 0),
                             (size_t)sqlite3_column_bytes(statement, 0), err);
        if (result == 0)
            leak_guard_add(&search->guard, &sketch);
    }
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return result;
}

static int find_fastest(struct retrieval *retrieval, const struct facts *facts, int64_t *id,
                        struct err *err)
{
    sqlite3_stmt *statement = retrieval->statements[FASTEST];
    sqlite3_bind_int64(statement, 1, facts->reference_id);
    sqlite3_bind_int64(statement, 2, *id);
    int result = index_db_step(&retrieval->db, statement, err);
    if (result > 0)
        *id = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return result < 0 ? result : 0;
}

static int append_example(struct retrieval *retrieval, const struct rank_candidate *candidate,
                          json_t *examples, struct err *err)
{
    static const char *const keys[] = {"name",     "summary", "source",    "language",
                                       "category", "problem", "reference", "solution"};
    sqlite3_stmt *statement = retrieval->statements[SHOW];
    sqlite3_bind_int64(statement, 1, candidate->id);
    int result = index_db_step(&retrieval->db, statement, err);
    if (result > 0) {
        json_t *example = json_object();
        int column = 0;
        for (; column < (int)COUNT(keys); column++)
            json_put(example, keys[column], json_text(index_db_text(statement, column)));
        json_put(example, "speedup", json_number(sqlite3_column_double(statement, column)));
        json_put(example, "score", json_number(candidate->score));
        json_array_append_new(examples, example);
    }
    sqlite3_reset(statement);
    return result < 0 ? result : 0;
}

/* The results so far. */
struct taken {
    struct sketch solutions[LIMIT_EXAMPLES];
    int64_t references[LIMIT_EXAMPLES];
    size_t count;
};

static bool repeats_taken(const struct taken *taken, const struct facts *facts)
{
    for (size_t i = 0; i < taken->count; i++)
        if (taken->references[i] == facts->reference_id ||
            sketch_is_near(&taken->solutions[i], &facts->solution))
            return true;
    return false;
}

/* Takes a candidate, or the fastest of its reference, unless the guard rejects it. */
static int take_candidate(struct search *search, struct rank_candidate candidate,
                          struct facts *facts, struct taken *taken, json_t *examples,
                          struct err *err)
{
    struct retrieval *retrieval = search->retrieval;
    int64_t found = candidate.id;
    int result = find_fastest(retrieval, facts, &candidate.id, err);
    if (result == 0 && candidate.id != found)
        result = read_facts(retrieval, candidate.id, facts, err);
    if (result < 0)
        return result;
    struct leak_guard_example leak_guard_example = {facts->problem, &facts->reference,
                                                    &facts->solution};
    if (leak_guard_rejects(&search->guard, &leak_guard_example) ||
        leak_guard_matches(&search->guard, &facts->solution) || repeats_taken(taken, facts))
        return 0;
    taken->references[taken->count] = facts->reference_id;
    taken->solutions[taken->count++] = facts->solution;
    return append_example(retrieval, &candidate, examples, err);
}

/* A rejected example also rejects earlier ones that are near it: so the guard sees a window
 * first. */
static int take_best(struct search *search, json_t *examples, struct err *err)
{
    struct facts *ahead = mem_alloc(WINDOW * sizeof *ahead);
    struct taken *taken = mem_alloc(sizeof *taken);
    bool *open = mem_alloc(WINDOW * sizeof *open);
    int result = 0;
    for (size_t first = 0; first < search->ranking.count && result == 0; first += WINDOW) {
        size_t left = search->ranking.count - first;
        size_t count = left < WINDOW ? left : WINDOW;
        for (size_t i = 0; i < count && result == 0; i++) {
            result = read_facts(search->retrieval, search->ranking.candidates[first + i].id,
                                &ahead[i], err);
            struct leak_guard_example leak_guard_example = {ahead[i].problem, &ahead[i].reference,
                                                            &ahead[i].solution};
            open[i] = result == 0 && !leak_guard_rejects(&search->guard, &leak_guard_example);
        }
        for (size_t i = 0; i < count && result == 0 && taken->count < search->query->count; i++)
            if (open[i])
                result = take_candidate(search, search->ranking.candidates[first + i], &ahead[i],
                                        taken, examples, err);
        if (taken->count == search->query->count)
            break;
    }
    mem_free(open);
    mem_free(taken);
    mem_free(ahead);
    return result;
}

static int embed_question(struct search *search, struct err *err)
{
    struct retrieval *retrieval = search->retrieval;
    struct buf text;
    size_t dimension = retrieval->vectors.dimension;
    if (!retrieval->vectors.data)
        return 0;
    buf_init(&text, EMBEDDED_BYTES);
    buf_printf(&text, "%s\n", search->query->title ? search->query->title : "");
    buf_puts(&text, search->query->text);
    const char *const texts[] = {text.data};
    pthread_mutex_lock(&retrieval->embedding);
    int result = embeddings_of(retrieval->embeddings, texts, 1, &dimension, &search->vector, err);
    pthread_mutex_unlock(&retrieval->embedding);
    buf_deinit(&text);
    return result;
}

/* Whether the index has the requested language. */
static bool find_language(struct search *search)
{
    const struct retrieval *retrieval = search->retrieval;
    const char *name = search->query->language;
    for (size_t i = 0; name && i < retrieval->language_count; i++)
        if (strcmp(retrieval->languages[i].name, name) == 0)
            search->ranking.language = &retrieval->languages[i];
    return !name || search->ranking.language;
}

static int search_locked(struct search *search, json_t *examples, struct err *err)
{
    const struct retrieval_query *query = search->query;
    struct retrieval *retrieval = search->retrieval;
    const struct query_terms_input question = {query->text, query->title, retrieval->examples,
                                               query->anywhere};
    const struct rank_statements statements = {&retrieval->db, retrieval->statements[FIND_TERM],
                                               retrieval->statements[RANK]};
    int result = 0;
    if (retrieval->ranking != RETRIEVAL_VECTORS)
        result = rank_words(&search->ranking, &statements, &question, err);
    if (result == 0 && search->vector)
        rank_vectors(&search->ranking, &retrieval->vectors, search->vector);
    if (result == 0)
        result = guard_known_solutions(search, err);
    return result == 0 ? take_best(search, examples, err) : result;
}

/* The caller has set up the guard, and keeps what the search adds to it. */
static int search_index(struct search *search, json_t *found, struct err *err)
{
    struct retrieval *retrieval = search->retrieval;
    if (search->query->count == 0 || !find_language(search))
        return 0;
    search->ranking.languages = retrieval->languages;
    search->ranking.candidates = mem_alloc(RANK_CANDIDATES * sizeof *search->ranking.candidates);
    int result = embed_question(search, err);
    if (result == 0) {
        pthread_mutex_lock(&retrieval->mutex);
        result = search_locked(search, found, err);
        pthread_mutex_unlock(&retrieval->mutex);
    }
    mem_free(search->ranking.candidates);
    mem_free(search->vector);
    return result;
}

int retrieval_search(struct retrieval *retrieval, const struct retrieval_query *query,
                     json_t **examples, struct err *err)
{
    struct search search = {.retrieval = retrieval, .query = query};
    *examples = NULL;
    if (query->count > LIMIT_EXAMPLES)
        return err_set(err, ERR_INPUT, "%zu examples requested; at most %d", query->count,
                       LIMIT_EXAMPLES);
    json_t *found = json_array();
    leak_guard_init(&search.guard, query);
    search.guard.withheld = retrieval->withheld;
    search.guard.withheld_count = retrieval->withheld_count;
    int result = search_index(&search, found, err);
    leak_guard_deinit(&search.guard);
    if (result < 0)
        json_decref(found);
    else
        *examples = found;
    return result;
}

/* A search for the problem collects its known solutions in the guard. */
int retrieval_withhold(struct retrieval *retrieval, const struct retrieval_query *query,
                       struct err *err)
{
    const struct retrieval_query one = {.text = query->text,
                                        .title = query->title,
                                        .problem_id = query->problem_id,
                                        .count = 1};
    struct search search = {.retrieval = retrieval, .query = &one};
    json_t *found = json_array();
    leak_guard_init(&search.guard, &one);
    int result = search_index(&search, found, err);
    json_decref(found);
    if (result < 0) {
        leak_guard_deinit(&search.guard);
        return result;
    }
    size_t count = retrieval->withheld_count++;
    retrieval->withheld = mem_resize(retrieval->withheld,
                                     (count + 1) * sizeof *retrieval->withheld);
    retrieval->withheld[count] = search.guard;
    return 0;
}

char *retrieval_title(const struct problem *problem)
{
    return mem_printf("%s %s", problem->name, problem->summary);
}
