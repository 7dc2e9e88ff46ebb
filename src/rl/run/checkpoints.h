/* run_checkpoints: checkpoints.jsonl of a run, as it is. */
#ifndef WARPGYM_RL_RUN_CHECKPOINTS_H
#define WARPGYM_RL_RUN_CHECKPOINTS_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#define RUN_CHECKPOINTS "checkpoints.jsonl"

/* Lines whose data is there, in their order; of lines with one name the last counts, which may say
 * that it was removed. *end: the length of the file up to the last of them, or of those. A half
 * line at the end is passed over, a missing file empty. ERR_INPUT: FILE:LINE: a line that is none
 * of a checkpoint. */
NODISCARD int run_checkpoints_read(const char *directory, json_t **out, off_t *end,
                                   struct err *err);

/* `where` is no path of this machine: tinker://… */
bool run_checkpoint_is_elsewhere(const char *where);

#endif
