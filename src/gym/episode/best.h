/* best: the fastest correct candidate of each problem, in a directory that outlives runs.
 *
 *   DIR/PROBLEM/solution.c (.py, …)     the candidate's text; a '/' in an id is a '_'
 *   DIR/PROBLEM/verdict.json            its verdict (docs/reference/verdict.md)
 *
 * best_keep replaces a stored candidate only by a faster one of the same problem, whose interval
 * begins above the stored speedup; best_start makes the stored one the start of an episode
 * (config.h). Both files are replaced atomically; a kill between the two leaves a verdict whose
 * candidate.hash does not match the text, which best_start ignores. Threads: one at a time for each
 * directory. Errors: ERR_IO, ERR_LIMIT (disk full).
 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/* {"code", "verdict"} for the problem's current version (`hash`) and language, a new reference;
 * NULL: none. */
json_t *best_start(const char *directory, const char *problem, const char *hash,
                   const char *language);
/* Stores the best turn of a trajectory. *kept: it was faster than the stored one, or the first. */
NODISCARD int best_keep(const char *directory, const json_t *trajectory, bool *kept,
                        struct err *err);
