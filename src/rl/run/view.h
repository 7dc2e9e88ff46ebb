/* run_view: a run's directory as others see it: `warpgym train`'s and `warpgym lm train`'s.
 *
 *                     train                            lm train
 *   what it is        config.yaml                      run.json
 *   step, phase       status.json                      metrics.jsonl; "sft"
 *   finished          phase "finished"                 model/ or adapter/ is there
 *   checkpoints       checkpoints.jsonl                checkpoints/step-N/state.json
 *   metrics           metrics.jsonl, names of rl/run/tags.h; loss, rate, norm, …
 *
 * Both are running while a process has their lock.
 *
 * Ownership: the caller's storage. Threads: one at a time. Nothing is ever written.
 */
#ifndef WARPGYM_RL_RUN_VIEW_H
#define WARPGYM_RL_RUN_VIEW_H

#include "rl/run/series.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

enum run_kind { RUN_NONE, RUN_RL, RUN_SFT };
enum run_state { RUN_STATE_STOPPED, RUN_STATE_RUNNING, RUN_STATE_FINISHED, RUN_STATE_COUNT };
extern const char *const run_state_names[RUN_STATE_COUNT];

#define RUN_PHASE_BYTES 32

struct run_view {
    char *path;
    const char *name; /* the last part of the path */
    enum run_kind kind;
    enum run_state state;
    pid_t holder;         /* base/lockfile.h */
    uint64_t step, steps; /* steps 0: not known */
    char phase[RUN_PHASE_BYTES];
    uint64_t done, all; /* of the phase */
    int64_t changed_ms; /* wall clock: when it wrote last; 0: never */
    struct run_series series;
};

enum run_kind run_kind_of(const char *path);

/* tail_bytes: of the metrics (rl/run/series.h). ERR_INPUT: no run. Reads nothing yet. */
NODISCARD int run_view_open(struct run_view *view, const char *path, size_t tail_bytes,
                            struct err *err);
void run_view_close(struct run_view *view);
/* As it is now. */
NODISCARD int run_view_read(struct run_view *view, struct err *err);

/* {NAME: value as text, …}: settings that are not the standard, or what run.json says. A new
 * reference. */
NODISCARD int run_view_settings(const struct run_view *view, json_t **out, struct err *err);
/* Trajectories of the held-out problems that row `row` of the metrics tells of (mem_free). NULL:
 * none were judged then, or the file is gone. */
char *run_view_evaluation(const struct run_view *view, size_t row);
/* How many problems were asked for in the evaluation of that row; 0: it does not say. */
size_t run_view_problems(const struct run_view *view, size_t row);
/* [{"name", "step", "where", …}], oldest first, as run_checkpoints; a new reference. */
NODISCARD int run_view_checkpoints(const struct run_view *view, json_t **out, struct err *err);

#endif
