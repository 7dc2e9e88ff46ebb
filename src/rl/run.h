/* run: the directory of a training run (docs/runs.md).
 *
 *   config.yaml        every setting with its origin; a run goes on only with the same
 *   train.log          what happened, a JSON line each
 *   metrics.jsonl      {"step", NAME: value, …} a line for each step
 *   checkpoints.jsonl  {"name", "step", "where", "state"} a line for each checkpoint that is complete
 *   traces.jsonl       a line for each turn: step, problem, rollout, turn, policy version, prompt, answer, verdict, reward
 *   tensorboard/       event files
 *   checkpoints/       what the engine saved
 *   lock               held by the process that trains
 *
 * A checkpoint's "state" holds the lengths of the other files at that moment. Going on means: load the last
 * complete checkpoint, cut the files to those lengths, continue: what was done since is done again, with the
 * same data order and random numbers. So a line is in a file once, whenever the run was killed.
 *
 * Threads: one at a time, but for run_trace, which any thread may call.
 */
#ifndef WARPGYM_RL_RUN_H
#define WARPGYM_RL_RUN_H

#include "base/err.h"
#include "base/settings.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct run;

struct run_checkpoint {
    char name[64];
    uint64_t step; /* steps that are done */
    char where[512];
    json_t *state; /* the trainer's own; the caller's reference */
};

/* Creates DIRECTORY, or opens one that is there. ERR_INPUT: another configuration (names the first setting that
 * differs; those that change no result, such as threads or log.level, may differ), ERR_LIMIT: another process trains in it. */
NODISCARD int run_open(struct run **out, const char *directory, const struct settings *settings,
                       struct err *err);
void run_close(struct run *run);
const char *run_directory(const struct run *run);

/* The last complete checkpoint: true, and the files are cut to it; false: there is none, and they are emptied. */
NODISCARD int run_resume(struct run *run, struct run_checkpoint *checkpoint, bool *found,
                         struct err *err);

/* Appends; on disk when it returns. `metrics` has plain numbers alone. Event files get the tags of docs/runs.md. */
NODISCARD int run_metrics(struct run *run, uint64_t step, const json_t *metrics, struct err *err);
NODISCARD int run_trace(struct run *run, const json_t *trace, struct err *err);
/* `values` of one step, for a histogram. */
NODISCARD int run_histogram(struct run *run, uint64_t step, const char *tag, const double *values,
                            size_t count, struct err *err);
NODISCARD int run_text(struct run *run, uint64_t step, const char *tag, const char *text,
                       struct err *err);
/* The checkpoint's own data is on disk already. `state` is borrowed. */
NODISCARD int run_checkpoint(struct run *run, const char *name, uint64_t step, const char *where,
                             const json_t *state, struct err *err);
/* Checkpoints that are there, oldest first: [{"name", "step", "where"}, …], a new reference. */
NODISCARD int run_checkpoints(const char *directory, json_t **out, struct err *err);

#endif
