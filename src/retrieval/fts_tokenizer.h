/* fts_tokenizer: analyzer.h as a tokenizer of FTS5, named "code".
 *
 * In a query each quoted string is one word, unchanged: queries are made of analysed words.
 * Threads: as the database connection.
 */
#pragma once

#include "base/err.h"

#include <sqlite3.h>

/* ERR_UNSUPPORTED: SQLite was built without FTS5. */
NODISCARD int fts_tokenizer_register(sqlite3 *db, struct err *err);
