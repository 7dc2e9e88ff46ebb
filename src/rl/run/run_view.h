/* run_view: a run's directory, read while the run may be going on: the runs of `warpgym train` and
 * of `warpgym lm train`.
 *
 *                     train                            lm train
 *   kind              config.yaml                      run.json
 *   step, phase       status.json                      metrics.jsonl; "sft"
 *   finished          phase "finished"                 model/ or adapter/ exists
 *   checkpoints       checkpoints.jsonl                checkpoints/step-N/state.json
 *   metrics           metrics.jsonl, names of rl/run/tensorboard.h; loss, rate, norm, …
 *
 * A run is running while a process holds its lock. A struct run_series has the metrics by name and
 * step, from metrics.jsonl as it grows: lines of one step make one row, in which later lines
 * override earlier ones. A file that became shorter is read again: its run resumed from a
 * checkpoint. An incomplete last line is left for the next read.
 *
 * Ownership: the caller's storage; a zeroed series is empty. Threads: one at a time. Nothing is
 * written.
 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RUN_SERIES_ALL SIZE_MAX

struct run_series {
    char *path;
    size_t tail_bytes; /* read only the end of the file; RUN_SERIES_ALL: all of it */
    uint64_t *steps;
    size_t count, capacity; /* rows */
    struct run_column {
        char *name;
        double *values; /* [room]; NAN: missing */
    } * columns;
    size_t column_count;
    off_t read;    /* bytes */
    size_t number; /* of lines, for errors */
};

/* Where the first line begins within the last `tail_bytes` of a file of `size`; 0 if that is all of
 * it. */
off_t run_tail(int fd, off_t size, size_t tail_bytes);

void run_series_init(struct run_series *series, const char *path, size_t tail_bytes);
void run_series_deinit(struct run_series *series);
/* Reads the new lines. A missing file is empty. ERR_INPUT: FILE:LINE. */
NODISCARD int run_series_read(struct run_series *series, struct err *err);

/* NULL: no such metric. */
const struct run_column *run_series_find(const struct run_series *series, const char *name);
/* The last value up to `step`, NAN if there is none; *at, unless NULL, its step. */
double run_series_at(const struct run_series *series, const char *name, uint64_t step,
                     uint64_t *at);
/* The mean of the values in the last `over` rows up to `step`; without one, the last value before
 * them. */
struct run_mean {
    double value;     /* NAN: none */
    double deviation; /* of the rows, not of the mean; NAN: a single row */
    size_t count;
};
struct run_mean run_series_mean(const struct run_series *series, const char *name, uint64_t step,
                                size_t over);

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
    uint64_t step, steps; /* steps 0: unknown */
    char phase[RUN_PHASE_BYTES];
    uint64_t done, all; /* of the phase */
    int64_t changed_ms; /* wall clock of the last write; 0: never */
    struct run_series series;
};

enum run_kind run_kind_of(const char *path);

/* tail_bytes: of the metrics. ERR_INPUT: not a run. Reads nothing yet. */
NODISCARD int run_view_open(struct run_view *view, const char *path, size_t tail_bytes,
                            struct err *err);
void run_view_close(struct run_view *view);
/* Reads the current state. */
NODISCARD int run_view_read(struct run_view *view, struct err *err);

/* {NAME: value as text, …}: settings that differ from the defaults, or the facts of run.json. A new
 * reference. */
NODISCARD int run_view_settings(const struct run_view *view, json_t **out, struct err *err);
/* The path of the held-out trajectories of row `row` of the metrics (mem_free). NULL: there was no
 * evaluation, or its file is gone. */
char *run_view_evaluation(const struct run_view *view, size_t row);
/* The number of problems requested in the evaluation of that row; 0: unknown. */
size_t run_view_problems(const struct run_view *view, size_t row);
/* [{"name", "step", "where", …}], oldest first, as run_checkpoints; a new reference. */
NODISCARD int run_view_checkpoints(const struct run_view *view, json_t **out, struct err *err);
