/* best: the fastest correct candidate of each problem, in a directory that outlives runs.
 *
 *   DIR/PROBLEM/solution.c (.cu, .py)   the candidate's text; a '/' in an id is a '_'
 *   DIR/PROBLEM/verdict.json            its verdict (docs/reference/verdict.md)
 *
 * best_keep replaces what is there only by a faster one of the same problem, one whose interval
 * begins above the speedup of what is there; best_start makes what
 * is there the beginning of an episode (config.h). Both files are replaced whole; a kill in
 * between leaves a verdict whose candidate.hash is not the text's, which best_start does not take.
 * Threads: one at a time for each directory. Errors: ERR_IO, ERR_LIMIT (disk full).
 */
#ifndef WARPGYM_GYM_EPISODE_BEST_H
#define WARPGYM_GYM_EPISODE_BEST_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/* {"code", "verdict"} for that problem and language as it is now (`hash`), a new reference; NULL
 * where there is none. */
json_t *best_start(const char *directory, const char *problem, const char *hash,
                   const char *language);
/* The best turn of a trajectory. *kept: it was faster than what was there, or the first. */
NODISCARD int best_keep(const char *directory, const json_t *trajectory, bool *kept,
                        struct err *err);

#endif
