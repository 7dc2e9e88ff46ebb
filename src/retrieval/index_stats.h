/* index_stats: what an index holds, as JSON.
 *
 * Threads: any. Errors: those of index_db_open.
 */
#pragma once

#include "base/err.h"

#include <jansson.h>

/* {"directory", "format", "created_at", "examples", "references", "terms", "languages": {NAME:
 * COUNT}, "categories": {…}, "embeddings": {"model", "dimension"} or null, "sources": [{"path",
 * "taken", "duplicates", "bad", "complaints", "incorrect", …}]}. A new reference. */
NODISCARD int index_stats(const char *directory, json_t **stats, struct err *err);
