/* index_load: the first stage of a build: stores examples in the database, each pair of texts once.
 *
 * Ownership: the caller's storage; the database is borrowed. Threads: one at a time.
 */
#pragma once

#include "base/hash.h"
#include "base/limits.h"
#include "retrieval/corpus.h"
#include "retrieval/index_db.h"

struct index_load {
    struct index_db *db;
    sqlite3_stmt *add_ref, *find_ref, *add_example;
    struct {
        char name[64];
        uint64_t count;
    } languages[LIMIT_LANGUAGES];
    size_t language_count;
    uint64_t total, duplicates; /* of one source: the caller resets the second */
    struct err err;             /* the error of the last index_load_add */
};

NODISCARD int index_load_begin(struct index_load *load, struct index_db *db, struct err *err);
/* A visitor for corpus_read: 0 or a negative code. */
int index_load_add(struct index_load *load, const struct example *example);
/* Writes the table of languages. */
NODISCARD int index_load_end(struct index_load *load, struct err *err);
void index_load_deinit(struct index_load *load);
