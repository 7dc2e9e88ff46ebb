/* catalogue: hashes of the server's problems, cached briefly.
 *
 * A submission that names a problem needs its hash. Reading and parsing the problem for each
 * submission would dominate its cost; so an edit takes effect after CATALOGUE_FRESH_MS.
 *
 * Threads: any. Search paths are borrowed. */
#pragma once

#include "base/err.h"
#include "base/hash.h"

#include <stddef.h>

#define CATALOGUE_FRESH_MS 1000

struct catalogue;

struct catalogue *catalogue_new(const char *const *search_paths, size_t search_path_count);
void catalogue_free(struct catalogue *catalogue);
/* ERR_MISSING, with the nearest id. */
NODISCARD int catalogue_hash(struct catalogue *catalogue, const char *id, char hex[HASH_HEX_BYTES],
                             struct err *err);
