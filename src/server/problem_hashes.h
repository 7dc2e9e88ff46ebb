/* problem_hashes: the hashes of the server's problems, cached briefly.
 *
 * A submission that names a problem needs its hash. Reading and parsing the problem for each
 * submission would dominate its cost; so an edit takes effect after PROBLEM_HASHES_FRESH_MS.
 *
 * Threads: any. Search paths are borrowed. */
#pragma once

#include "base/err.h"
#include "base/hash.h"
#include "base/paths.h"

#include <stddef.h>

#define PROBLEM_HASHES_FRESH_MS 1000

struct problem_hashes;

struct problem_hashes *problem_hashes_new(const struct paths_list *search_paths);
void problem_hashes_free(struct problem_hashes *problem_hashes);
/* ERR_MISSING, with the nearest id. */
NODISCARD int problem_hashes_get(struct problem_hashes *problem_hashes, const char *id,
                                 char hex[HASH_HEX_BYTES], struct err *err);
