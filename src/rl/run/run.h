/* run: the directory of a training run (docs/guide/runs.md).
 *
 *   config.yaml        every setting with its origin; a run goes on only with the same
 *   train.log          what happened, a JSON line each; never cut
 *   status.json        the phase it is in, for `warpgym runs watch`
 *   metrics.jsonl      {"step", NAME: value, …} a line for each step
 *   traces.jsonl       a line for each turn: step, problem, rollout, turn, policy_version, prompt,
 *                      answer, verdict, reward
 *   checkpoints.jsonl  {"name", "step", "where", "state", "lengths", "time"} a line for each
 *                      checkpoint that is complete
 *   tensorboard/       event files
 *   checkpoints/       what the engine saved
 *   lock               held by the process that trains
 *
 * A checkpoint's "lengths" are those of metrics, traces and event files at that moment. Going on
 * means: take the last complete checkpoint, cut the files to those lengths, continue: what was done
 * since is done again, with the same data order and random numbers. So a line is in a file once,
 * whenever the run was killed. Whoever removes the newest checkpoints goes on from an older one.
 *
 *   run_open ─► run_resume ─► run_metrics, run_trace, … ─► run_checkpoint ─► run_finish, run_close
 *
 * Threads: one at a time, but for run_trace, run_status and run_log, which any thread may call.
 */
#ifndef WARPGYM_RL_RUN_RUN_H
#define WARPGYM_RL_RUN_RUN_H

#include "base/err.h"
#include "base/settings.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct run;

#define RUN_NAME_BYTES 64
#define RUN_WHERE_BYTES 512

struct run_checkpoint {
    char name[RUN_NAME_BYTES];
    uint64_t step; /* steps that are done */
    char where[RUN_WHERE_BYTES];
    json_t *state; /* the trainer's own; the caller's reference */
};

/* Creates DIRECTORY, or opens one that is there. ERR_INPUT: another configuration (names the first
 * setting that differs; those that change no result may differ, rl/run/settings.h), ERR_LIMIT:
 * another process trains in it. */
NODISCARD int run_open(struct run **out, const char *directory, const struct settings *settings,
                       struct err *err);
/* NULL is fine. */
void run_close(struct run *run);
const char *run_directory(const struct run *run);

/* The last complete checkpoint: *found, and the files are cut to it; none: they are emptied. Comes
 * before everything below. ERR_INPUT: a file is shorter than its checkpoint says. */
NODISCARD int run_resume(struct run *run, struct run_checkpoint *checkpoint, bool *found,
                         struct err *err);

/* Appends; on disk when it returns. `metrics` has plain numbers alone, or null for one that is not
 * finite. Event files get them under the tags of rl/run/tags.h. After an error the run ends: what
 * is in the files is cut to the last checkpoint when it goes on. */
NODISCARD int run_metrics(struct run *run, uint64_t step, const json_t *metrics, struct err *err);
/* Appends; on disk with the next checkpoint. ERR_INTERNAL: a key of docs/schemas/trace.schema.json
 * is missing. */
NODISCARD int run_trace(struct run *run, const json_t *trace, struct err *err);
/* `values` of one step, for a histogram. */
NODISCARD int run_histogram(struct run *run, uint64_t step, const char *tag, const double *values,
                            size_t count, struct err *err);
NODISCARD int run_text(struct run *run, uint64_t step, const char *tag, const char *text,
                       struct err *err);
/* The checkpoint's own data is on disk already. `state` is borrowed. `where`: a path relative to
 * the directory, or NAME://… for what is elsewhere. */
NODISCARD int run_checkpoint(struct run *run, const char *name, uint64_t step, const char *where,
                             const json_t *state, struct err *err);

/* One that is elsewhere is there no more; `line` as of run_checkpoints. What is a path here tells
 * by itself. */
NODISCARD int run_checkpoint_removed(struct run *run, const json_t *line, struct err *err);

/* A line of train.log: {"time", "event", …facts}; facts (borrowed) may be NULL. */
NODISCARD int run_log(struct run *run, const char *event, const json_t *facts, struct err *err);
/* What it does just now, for people: best effort, at most twice a second for one phase. `phase`
 * outlives the call. */
void run_status(struct run *run, const char *phase, uint64_t step, uint64_t steps, size_t done,
                size_t all);
/* All steps are done; `why` says so: "steps", "patience". Going on later takes it back. */
NODISCARD int run_finish(struct run *run, uint64_t step, const char *why, struct err *err);

/* Checkpoints that are there, oldest first, as their lines have them; a new reference. For readers:
 * half a line at the end is passed over. A file that is missing is an empty list. */
NODISCARD int run_checkpoints(const char *directory, json_t **out, struct err *err);

#endif
