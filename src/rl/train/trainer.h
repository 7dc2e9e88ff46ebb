/* trainer: the loop. Fine-tuning first where it is asked for, then steps of
 *
 *   problems ─► play ─► rollouts ─► struct rl_batch ─► rl/method ─► datums ─► learner ─► weights
 *     └ order of (seed, epoch)          └ traces            └ metrics
 *
 * A step plays, then trains. With train.lag the next one is played meanwhile, from the weights that
 * this one began with, so never from any that are more than one step old; each trace says the
 * policy's version, each step's metrics the lag that it had. Behind a checkpoint or an evaluation
 * nothing is played ahead. So which weights write an answer is no matter of time: the same numbers
 * for a seed (on the CPU), also when it was killed and goes on.
 *
 * Every train.evaluate_every steps the held-out problems are played greedily, or with a few
 * samples, and measured as `warpgym report` does. Training ends after train.steps, when a measure
 * has not improved for train.patience evaluations, or with a clear sentence when loss, gradients
 * or the mismatch run away. An evaluation of which something could not be judged may be the best,
 * and never counts as one without progress.
 *
 * Errors of a whole run: the policy or the judge is away for longer than train.wait_ms, a full
 * disk. Nothing is lost: the next call goes on from the last checkpoint. An interruption is no
 * error: what is done is saved first.
 */
#ifndef WARPGYM_RL_TRAIN_TRAINER_H
#define WARPGYM_RL_TRAIN_TRAINER_H

#include "base/err.h"
#include "base/settings.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct trainer_progress {
    const char *phase; /* "sft", "rollout", "train", "evaluate", "checkpoint" */
    uint64_t step, steps;
    size_t done, all;      /* of the phase: turns, datums, … */
    const json_t *metrics; /* of a step that is over, or NULL */
};

struct trainer_options {
    const struct settings *settings; /* train.*, gym.*, policy.*, the judge's */
    const char *directory;
    const char *const *search_paths; /* of problems */
    size_t search_path_count;
    const _Atomic int *cancelled;
    /* One at a time, from any thread. May be NULL. */
    void (*tell)(void *context, const struct trainer_progress *news);
    void *context;
};

struct trainer_result {
    uint64_t steps; /* that are done, in all */
    uint64_t saved; /* of them in the last checkpoint */
    bool finished;  /* else it was cancelled */
    char why[64];   /* it ended: "steps", "patience", "interrupted" */
};

NODISCARD int trainer_run(const struct trainer_options *options, struct trainer_result *result,
                          struct err *err);

#endif
