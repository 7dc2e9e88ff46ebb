/* run: the directory of a training run (docs/guide/runs.md).
 *
 *   config.yaml        every setting with its origin; a run resumes only with the same
 *   train.log          events, a JSON line each; never truncated
 *   status.json        {"phase", "step", "steps", "done", "all", "why", "time"}, for `runs watch`
 *   metrics.jsonl      {"step", NAME: value, …} a line for each step
 *   traces.jsonl       a line for each turn: step, problem, rollout, turn, policy_version, prompt,
 *                      answer, verdict, reward
 *   checkpoints.jsonl  {"name", "step", "where", "state", "lengths", "time"} a line for each
 *                      complete checkpoint
 *   tensorboard/       event files
 *   checkpoints/       checkpoints of the engine
 *   lock               held by the training process
 *
 * A checkpoint's "lengths" are those of metrics, traces and event files at that moment. Resuming
 * takes the last complete checkpoint, truncates the files to those lengths, and repeats what came
 * after, with the same data order and random numbers. So each line is in a file once, whenever the
 * run was killed. If the newest checkpoints are removed, the run resumes from an older one.
 *
 *   run_open ─► run_resume ─► run_metrics, run_trace, … ─► run_checkpoint ─► run_finish, run_close
 *
 * Ownership: run_close frees a run; arguments are borrowed. Threads: one at a time, except
 * run_trace, run_status and run_log, which any thread may call. Errors: ERR_IO, ERR_LIMIT (disk
 * full), ERR_INTERNAL (a wrong call).
 */
#pragma once

#include "base/err.h"
#include "base/settings.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct run;

#define RUN_METRICS "metrics.jsonl"
#define RUN_TRACES "traces.jsonl"
#define RUN_STATUS "status.json"
#define RUN_FINISHED "finished" /* the phase of a finished run */

#define RUN_NAME_BYTES 64
#define RUN_WHERE_BYTES 512

struct run_checkpoint {
    char name[RUN_NAME_BYTES];
    uint64_t step; /* steps done */
    char where[RUN_WHERE_BYTES];
    json_t *state; /* the trainer's; the caller's reference */
};

/* Creates DIRECTORY, or opens an existing run. ERR_INPUT: another configuration (names the first
 * setting that differs; some may, rl/run/run_settings.h), ERR_LIMIT: another process trains in
 * it. */
NODISCARD int run_open(struct run **out, const char *directory, const struct settings *settings,
                       struct err *err);
/* NULL is fine. */
void run_close(struct run *run);
const char *run_directory(const struct run *run);

/* Loads the last complete checkpoint and truncates the files to it; *found false: there is none,
 * and the files are emptied. Call it before everything below. ERR_INPUT: a file is shorter than its
 * checkpoint says. */
NODISCARD int run_resume(struct run *run, struct run_checkpoint *checkpoint, bool *found,
                         struct err *err);

/* Appends; on disk when it returns. `metrics` has plain numbers, or null for one that is not
 * finite. Event files get them under the tags of rl/run/tensorboard.h. After an error the run must
 * end: the files are truncated to the last checkpoint when it resumes. */
NODISCARD int run_metrics(struct run *run, uint64_t step, const json_t *metrics, struct err *err);
/* Appends; on disk with the next checkpoint. ERR_INTERNAL: a key of docs/schemas/trace.schema.json
 * is missing. */
NODISCARD int run_trace(struct run *run, const json_t *trace, struct err *err);
/* Writes `values` of one step as a histogram. */
NODISCARD int run_histogram(struct run *run, uint64_t step, const char *tag, const double *values,
                            size_t count, struct err *err);
NODISCARD int run_text(struct run *run, uint64_t step, const char *tag, const char *text,
                       struct err *err);
/* Records a checkpoint whose data is already on disk. `state` is borrowed. `where`: a path relative
 * to the directory, or NAME://… for remote data. */
NODISCARD int run_checkpoint(struct run *run, const char *name, uint64_t step, const char *where,
                             const json_t *state, struct err *err);

/* Records that a remote checkpoint was removed; `line` as in run_checkpoints. A local checkpoint
 * needs no record. */
NODISCARD int run_checkpoint_removed(struct run *run, const json_t *line, struct err *err);

/* Appends a line to train.log: {"time", "event", …facts}; takes over `facts`. */
NODISCARD int run_log(struct run *run, const char *event, json_t *facts, struct err *err);
/* Writes status.json: best effort, at most twice a second for one phase. `phase` outlives the call.
 * steps, all 0: unknown. */
void run_status(struct run *run, const char *phase, uint64_t step, uint64_t steps, size_t done,
                size_t all);
/* All steps are done for the reason `why`: "steps", "early stop". Resuming takes it back. */
NODISCARD int run_finish(struct run *run, uint64_t step, const char *why, struct err *err);
