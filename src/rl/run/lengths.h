/* run_lengths: how long a run's files are, and cutting them to what they were.
 *
 *   {"metrics.jsonl": 1234, "traces.jsonl": 99, "tensorboard/events.out.tfevents.…": 500, …}
 *
 * Event files that are not named were begun later, and go.
 */
#ifndef WARPGYM_RL_RUN_LENGTHS_H
#define WARPGYM_RL_RUN_LENGTHS_H

#include "base/err.h"

#include <jansson.h>
#include <sys/types.h>

#define RUN_METRICS "metrics.jsonl"
#define RUN_TRACES "traces.jsonl"

/* Of the files as they are; a new reference. Each is on the disk when it returns. */
NODISCARD int run_lengths_measure(const char *directory, json_t **out, struct err *err);
/* `lengths` NULL: as if all were 0. ERR_INPUT: a file of lines is shorter, or is cut amid a line,
 * and none is changed. */
NODISCARD int run_lengths_cut(const char *directory, const json_t *lengths, struct err *err);

/* Where the first line begins within the last `tail_bytes` of a file of `size`; 0 where that is all
 * of it. */
off_t run_tail(int fd, off_t size, size_t tail_bytes);

#endif
