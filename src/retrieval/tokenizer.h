/* tokenizer: words.h as a tokenizer of FTS5, by the name of "code".
 *
 * In a query it takes each quoted string for one word, as it stands: queries are made of words.
 */
#ifndef WARPGYM_RETRIEVAL_TOKENIZER_H
#define WARPGYM_RETRIEVAL_TOKENIZER_H

#include "base/err.h"

#include <sqlite3.h>

/* ERR_UNSUPPORTED where SQLite was built without FTS5. */
NODISCARD int tokenizer_register(sqlite3 *db, struct err *err);

#endif
