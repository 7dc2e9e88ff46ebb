/* eval_resume: what an interrupted `warpgym eval --out FILE` has done already. */
#pragma once

#include "judge/batch.h"

/* Removes from `tasks` (updates count) those with a final verdict in the file at `path`: the same
 * problem (its hash), candidate text and path. `timed`: a verdict without a time is not final.
 * *failed: how many of these did not pass. Returns how many there are. */
size_t eval_resume(const char *path, bool timed, struct batch_task *tasks, size_t *count,
                   size_t *failed);
