/* runs: what the commands `warpgym runs …` share: finding runs, the measures that people look at,
 * checkpoints. */
#ifndef WARPGYM_CLI_RUNS_RUNS_H
#define WARPGYM_CLI_RUNS_RUNS_H

#include "cli/cli.h"
#include "rl/run/run_view.h"

#define RUNS_HOME "runs"
#define RUNS_NUMBER_BYTES 24

/* Measures that are shown where nobody asked for others, each under the first of its names that a
 * run has: `train` and `lm train` call them differently. */
struct runs_measure {
    const char *label;
    const char *names[3];
};
extern const struct runs_measure runs_measures[];
extern const size_t runs_measure_count;

/* NULL: the run has none of its names. */
const char *runs_measure_name(const struct runs_measure *measure, const struct run_series *series);

/* "0.5132", "12", "1.2e-05", "-" for what is no number. */
void runs_number(double value, char text[RUNS_NUMBER_BYTES]);

/* A path, or the name of a run in ./runs. ERR_INPUT: neither. The caller's (mem_free). */
NODISCARD int runs_find(const char *word, char **path, struct err *err);
/* The run itself, or every run in it, by name; paths are the arena's. A directory without any adds
 * none. ERR_MISSING: no such directory. */
NODISCARD int runs_find_all(const char *directory, struct arena *arena, struct cli_words *paths,
                            struct err *err);

/* runs_find, run_view_open and run_view_read; the caller's run_view_close after 0. */
NODISCARD int runs_open(struct run_view *view, const char *word, size_t tail_bytes,
                        struct err *err);
/* What a command with one RUN begins with: false: *status is what to end with, the words are freed.
 */
bool runs_one(int (*run)(int, char **), const struct cli_option *options, int argc, char **argv,
              struct cli_words *words, int *status);

/* "step 12 of 100", "step 12". */
void runs_step_text(const struct run_view *view, char *text, size_t text_bytes);
/* "3 min" since it last wrote. */
void runs_age_text(const struct run_view *view, char *text, size_t text_bytes);

/* The measure that says which checkpoint is best, unless somebody names another; *lowest: less is
 * better. */
const char *runs_best_measure(const struct run_view *view, bool *lowest);
/* The checkpoint with the best value of the measure since the one before it, borrowed from
 * `checkpoints`; NULL: none has one. */
const json_t *runs_best(const struct run_view *view, const json_t *checkpoints, const char *measure,
                        bool lowest);

#endif
