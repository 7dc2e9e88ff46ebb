#include "retrieval/rank.h"

#include "base/mem.h"

#include <stdlib.h>

#define HITS (RANK_CANDIDATES / 2)
#define RANK_OFFSET 60 /* reciprocal rank fusion, Cormack, Clarke and Büttcher 2009 */
#define EXPRESSION_BYTES ((size_t)8192)

static double score_of(size_t place)
{
    return 1.0 / (RANK_OFFSET + 1 + (double)place);
}

static void add_rank(struct ranking *ranking, int64_t id, size_t place)
{
    for (size_t i = 0; i < ranking->count; i++)
        if (ranking->candidates[i].id == id) {
            ranking->candidates[i].score += score_of(place);
            return;
        }
    ranking->candidates[ranking->count++] = (struct rank_candidate){id, score_of(place)};
}

int rank_words(struct ranking *ranking, const struct rank_statements *statements,
               const struct query_terms_input *question, struct err *err)
{
    sqlite3_stmt *rank = statements->rank;
    const struct rank_language *language = ranking->language;
    struct buf expression;
    buf_init(&expression, EXPRESSION_BYTES);
    int result = query_terms_choose(statements->db, statements->find_term, question, &expression,
                                    err);
    if (result == 0 && expression.len > 0) {
        uint64_t first = language ? language->number << INDEX_LANGUAGE_SHIFT : 0;
        uint64_t last = language ? first + language->examples : INT64_MAX;
        sqlite3_bind_text(rank, 1, expression.data, (int)expression.len, SQLITE_STATIC);
        sqlite3_bind_int64(rank, 2, (sqlite3_int64)first);
        sqlite3_bind_int64(rank, 3, (sqlite3_int64)last);
        sqlite3_bind_int64(rank, 4, HITS);
        while ((result = index_db_step(statements->db, rank, err)) > 0) {
            struct rank_candidate *candidate = &ranking->candidates[ranking->count];
            candidate->id = sqlite3_column_int64(rank, 0);
            candidate->score = score_of(ranking->count);
            ranking->count++;
        }
        sqlite3_reset(rank);
        sqlite3_clear_bindings(rank);
    }
    buf_deinit(&expression);
    return result;
}

static int64_t id_of_row(const struct rank_language *language, uint64_t row)
{
    while (row >= language->first_row + language->examples)
        language++;
    return (int64_t)(language->number << INDEX_LANGUAGE_SHIFT | (row - language->first_row + 1));
}

static int compare_candidate(const void *left, const void *right)
{
    const struct rank_candidate *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

void rank_vectors(struct ranking *ranking, const struct vectors *vectors, const float *query)
{
    const struct rank_language *language = ranking->language;
    struct vector_hit *hits = mem_alloc(HITS * sizeof *hits);
    uint64_t first = language ? language->first_row : 0;
    uint64_t end = language ? first + language->examples : vectors->rows;
    size_t count = vectors_nearest(vectors, query, first, end, hits, HITS);
    for (size_t i = 0; i < count; i++)
        add_rank(ranking, id_of_row(ranking->languages, hits[i].row), i);
    mem_free(hits);
    qsort(ranking->candidates, ranking->count, sizeof *ranking->candidates, compare_candidate);
}
