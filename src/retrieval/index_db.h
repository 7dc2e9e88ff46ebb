/* index_db: the database of an index, and its directory.
 *
 *   facts      about the whole index: format, examples, embeddings_model, dimension, sources (JSON)
 *   languages  each with a number, its count of examples, and the row of its first vector
 *   refs       reference texts, each once, with their sketches (sketch.h)
 *   examples   one row each; id = number of the language << 32 | count from 1, so that a language
 *              is a range of ids, for the text search as for the vectors
 *   words      FTS5 over name and summary, reference and solution, with the tokenizer "code"; its
 *              rowids are the examples' ids, and it stores no texts
 *   terms      in how many examples a word occurs: in names and references, and anywhere
 *
 * An index is immutable: a new one replaces it (index_build.h). So readers need no locks, and a
 * reader keeps the old one until it closes. Threads: one at a time for each struct index_db.
 */
#pragma once

#include "base/err.h"

#include <sqlite3.h>
#include <stdint.h>

#define INDEX_FILE "index.db"
#define INDEX_VECTORS "vectors.f32"
#define INDEX_APPLICATION 0x77676978 /* "wgix" in the file's header */
#define INDEX_FORMAT 1
#define INDEX_LANGUAGE_SHIFT 32

struct index_db {
    sqlite3 *handle;
    char *path;
};

/* Creates a new database, or opens an existing one for reading. ERR_MISSING: no such file,
 * ERR_INPUT: it is not an index, ERR_UNSUPPORTED: a newer format. */
NODISCARD int index_db_create(struct index_db *db, const char *directory, struct err *err);
NODISCARD int index_db_open(struct index_db *db, const char *directory, struct err *err);
void index_db_close(struct index_db *db);

NODISCARD int index_db_run(struct index_db *db, const char *sql, struct err *err);
/* The caller's (sqlite3_finalize). */
NODISCARD int index_db_prepare(struct index_db *db, const char *sql, sqlite3_stmt **statement,
                               struct err *err);
/* 1: a row, 0: the end, or an error. */
NODISCARD int index_db_step(struct index_db *db, sqlite3_stmt *statement, struct err *err);

NODISCARD int index_db_set_fact(struct index_db *db, const char *name, const char *value,
                                struct err *err);
/* The caller's (mem_free); NULL if missing. */
NODISCARD int index_db_fact(struct index_db *db, const char *name, char **value, struct err *err);

/* Text of a column; "" for null. Valid until the next step. */
const char *index_db_text(sqlite3_stmt *statement, int column);
