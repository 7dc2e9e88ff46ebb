/* checkpoint: a directory that appears under its name whole, or not at all.
 *
 *   begin ──► files are written to DIRECTORY.saving ──► end: onto the disk, then renamed
 *
 * One that is there already stays whole and in place until the new one takes its name in one step.
 * On a file system that cannot exchange two names it is called DIRECTORY.previous for an instant;
 * checkpoint_find knows. A writer's death leaves at most DIRECTORY.saving, which the next one
 * removes.
 *
 * A wrong name deletes no files: a directory that holds anything but what a checkpoint
 * consists of is not replaced.
 *
 * Threads and processes: one at a time writes a directory.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>

#define CHECKPOINT_STATE "state.json"
#define CHECKPOINT_OPTIMIZER "optimizer.safetensors"
#define CHECKPOINT_SAVING ".saving"

struct checkpoint {
    char *directory; /* without a slash at its end */
    char *path;      /* where its files go meanwhile */
};

/* Parents are made. */
NODISCARD int checkpoint_begin(struct checkpoint *checkpoint, const char *directory,
                               struct err *err);
/* Ends it with what the writing gave: after 0 it takes its name, else its files are removed.
 * Returns `result`, or why it failed now. */
NODISCARD int checkpoint_end(struct checkpoint *checkpoint, int result, struct err *err);

/* Where the whole one is: the caller's path (mem_free). ERR_MISSING: there is none. */
NODISCARD int checkpoint_find(const char *directory, char **path, struct err *err);
/* Is no checkpoint any more at once, then goes; best effort. */
void checkpoint_remove(const char *directory);
