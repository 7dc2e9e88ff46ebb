/* terms: of all the words of a question, those that are worth looking for.
 *
 * Words weigh by how seldom they are (Robertson's idf) and how often the question has them. The
 * heaviest are taken until TERMS_MOST are, or until the examples that have them are TERMS_EXAMPLES
 * together: that bounds what a search costs, whatever is asked.
 */
#ifndef WARPGYM_RETRIEVAL_TERMS_H
#define WARPGYM_RETRIEVAL_TERMS_H

#include "base/buf.h"
#include "retrieval/index_db.h"

#include <stdbool.h>

#define TERMS_MOST 48
#define TERMS_DISTINCT 1024 /* of a question, the first ones */
#define TERMS_EXAMPLES 4000

struct terms_question {
    const char *text;  /* a reference, or words */
    const char *title; /* more words, which count for more; NULL: none */
    uint64_t examples; /* in the index */
    bool anywhere;     /* looks for them in solutions, too */
};

/* An expression of FTS5; empty where nothing is worth looking for. `find` is
 * TERMS_FIND, prepared. */
#define TERMS_FIND "select near, examples from terms where term = ?1"
NODISCARD int terms_choose(struct index_db *db, sqlite3_stmt *find,
                           const struct terms_question *question, struct buf *expression,
                           struct err *err);

#endif
