/* query_terms: the words of a query that are worth searching for.
 *
 * A word's weight is its rarity (Robertson's idf) times its frequency in the query. The heaviest
 * words are taken until QUERY_TERMS_MAX are, or until the examples that contain them reach
 * QUERY_TERMS_EXAMPLES: that bounds the cost of any search. Threads: one at a time for each
 * database.
 */
#pragma once

#include "base/buf.h"
#include "retrieval/index_db.h"

#include <stdbool.h>

#define QUERY_TERMS_MAX 48
#define QUERY_TERMS_DISTINCT 1024 /* of a query, the first ones */
#define QUERY_TERMS_EXAMPLES 4000

struct query_terms_input {
    const char *text;  /* a reference, or words */
    const char *title; /* words with a higher weight; NULL: none */
    uint64_t examples; /* in the index */
    bool anywhere;     /* search solutions, too */
};

/* An FTS5 expression; empty if no word is worth searching for. `find` is QUERY_TERMS_FIND,
 * prepared. */
#define QUERY_TERMS_FIND "select near, examples from terms where term = ?1"
NODISCARD int query_terms_choose(struct index_db *db, sqlite3_stmt *find,
                                 const struct query_terms_input *question, struct buf *expression,
                                 struct err *err);
