/* runs: shared by the commands `warpgym runs …`: finding runs, the main measures, checkpoints. */
#pragma once

#include "cli/cli.h"
#include "rl/run/run_view.h"

#define RUNS_HOME "runs"
#define RUNS_NUMBER_BYTES 24

/* The measures shown by default, each under the first of its names that a run has: `train` and
 * `lm train` name them differently. */
struct runs_measure {
    const char *label;
    const char *names[3];
};
extern const struct runs_measure runs_measures[];
extern const size_t runs_measure_count;

/* NULL: the run has none of its names. */
const char *runs_measure_name(const struct runs_measure *measure, const struct run_series *series);

/* "0.5132", "12", "1.2e-05", "-" for NaN. */
void runs_number(double value, char text[RUNS_NUMBER_BYTES]);

/* "812 KiB", "1.4 GiB" */
void runs_size(uint64_t bytes, char text[RUNS_NUMBER_BYTES]);

/* A path, or the name of a run in ./runs. ERR_INPUT: neither. The caller's (mem_free). */
NODISCARD int runs_find(const char *word, char **path, struct err *err);
/* The directory itself if it is a run, else every run in it, by name; paths are the arena's. A
 * directory without runs adds none. ERR_MISSING: no such directory. */
NODISCARD int runs_find_all(const char *directory, struct arena *arena, struct cli_words *paths,
                            struct err *err);

/* runs_find, run_view_open and run_view_read; the caller's run_view_close after 0. */
NODISCARD int runs_open(struct run_view *view, const char *word, size_t tail_bytes,
                        struct err *err);

/* The work of a command with one RUN, which it opens and closes. */
typedef int runs_work(struct cli_call *call, struct run_view *view, void *arguments,
                      struct err *err);
NODISCARD int runs_do(struct cli_call *call, size_t tail_bytes, runs_work *work, void *arguments,
                      struct err *err);

/* "step 12 of 100", "step 12". */
void runs_step_text(const struct run_view *view, char *text, size_t text_bytes);
/* "3 min" since its last write. */
void runs_age_text(const struct run_view *view, char *text, size_t text_bytes);

/* The default measure of the best checkpoint; *lowest: less is better. */
const char *runs_best_measure(const struct run_view *view, bool *lowest);
/* The checkpoint with the best value of the measure since the previous one, borrowed from
 * `checkpoints`; NULL: no values. */
const json_t *runs_best(const struct run_view *view, const json_t *checkpoints, const char *measure,
                        bool lowest);
/* The checkpoint of a name, or the "last" one, borrowed from `checkpoints`; NULL with ERR_INPUT. */
const json_t *runs_checkpoint(const struct run_view *view, const json_t *checkpoints,
                              const char *name, struct err *err);
