/* checkpoints: checkpoints.jsonl of a run, and the lengths of the run's files at a checkpoint.
 *
 *   "lengths": {"metrics.jsonl": 1234, "traces.jsonl": 99, "tensorboard/events.…": 500, …}
 *
 * Event files that are not listed were created later, and are removed.
 *
 * Threads: one at a time for each directory. Errors: ERR_INPUT, ERR_IO.
 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#define RUN_CHECKPOINTS "checkpoints.jsonl"

/* `where` is not a path on this machine: tinker://… */
bool run_checkpoint_is_elsewhere(const char *where);

/* Lines whose data exists, in their order; of lines with one name the last counts, which may record
 * the removal. *end: the file's length up to the last of these lines. An incomplete last line is
 * ignored, a missing file is empty. ERR_INPUT: FILE:LINE of an invalid line. */
NODISCARD int run_checkpoints_read(const char *directory, json_t **out, off_t *end,
                                   struct err *err);
/* The same for readers: existing checkpoints, oldest first; a new reference. */
NODISCARD int run_checkpoints(const char *directory, json_t **out, struct err *err);

/* The current lengths, a new reference. Each file is on disk when it returns. */
NODISCARD int run_lengths_measure(const char *directory, json_t **out, struct err *err);
/* Truncates the files. `lengths` NULL: all are 0. ERR_INPUT: a file of lines is shorter, or its
 * length lies inside a line; no file has changed then. */
NODISCARD int run_lengths_cut(const char *directory, const json_t *lengths, struct err *err);
