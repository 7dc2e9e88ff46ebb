/* rank: the examples of an index that suit a query, best first: by their words (BM25) and, fused by
 * reciprocal rank, by their vectors.
 *
 * Ownership: the caller's storage; everything else is borrowed. Threads: one at a time for each
 * database.
 */
#pragma once

#include "retrieval/query_terms.h"
#include "retrieval/vectors.h"

#define RANK_CANDIDATES 2048 /* half of them by each of the two searches */

struct rank_language {
    char *name;
    uint64_t number, examples, first_row;
};

struct rank_candidate {
    int64_t id; /* of an example */
    double score;
};

struct ranking {
    const struct rank_language *languages; /* all, by their first rows */
    const struct rank_language *language;  /* the one to search; NULL: all */
    struct rank_candidate *candidates;     /* room for RANK_CANDIDATES */
    size_t count;
};

/* Weights of bm25: a name matters most. */
#define RANK_BY_WORDS                                                                              \
    "select rowid from words where words match ?1 and rowid between ?2 and ?3"                     \
    " order by bm25(words, 5.0, 1.0, 0.5), rowid limit ?4"

struct rank_statements {
    struct index_db *db;
    sqlite3_stmt *find_term, *rank; /* QUERY_TERMS_FIND and RANK_BY_WORDS, prepared */
};

/* The first of the two. */
NODISCARD int rank_words(struct ranking *ranking, const struct rank_statements *statements,
                         const struct query_terms_input *question, struct err *err);
void rank_vectors(struct ranking *ranking, const struct vectors *vectors, const float *query);
