/* trainer: the training loop. Optional fine-tuning first, then steps of
 *
 *   problems ─► collector ─► rollouts ─► rl_batch ─► rl/method ─► datums ─► backend ─► weights
 *     └ order of (seed, epoch)              └ traces            └ metrics
 *
 * A step collects rollouts, then trains. With train.staleness the next step's rollouts are
 * collected meanwhile, from the weights at the beginning of this step, so at most one step old;
 * each trace has the policy's version, each step's metrics have the staleness. After a checkpoint
 * or an evaluation nothing is collected ahead. So the weights that write an answer do not depend on
 * timing: a seed gives the same numbers (on the CPU), also after a kill and a resume. With a
 * staleness above 1, and with train.carry, they do depend on it: several steps are collected ahead,
 * and go on while the weights change.
 *
 * Every train.evaluate_every steps the held-out problems are evaluated greedily, or with a few
 * samples, and measured as `warpgym report` does. Training ends after train.steps, when a measure
 * has not improved for train.early_stop evaluations, or with a clear error when loss, gradients or
 * the mismatch diverge. An evaluation with unjudged answers may become the best, but never counts
 * as one without progress.
 *
 * Errors of a run: the policy or the judge is unavailable for longer than train.wait_ms, a full
 * disk. Nothing is lost: the next call resumes from the last checkpoint. An interruption is no
 * error: the finished steps are saved first.
 *
 * Ownership: everything is borrowed for the call. Threads: trainer_run blocks.
 */
#pragma once

#include "base/err.h"
#include "base/paths.h"
#include "base/settings.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct trainer_progress {
    const char *phase; /* "sft", "rollout", "train", "evaluate", "checkpoint" */
    uint64_t step, steps;
    size_t done, all;      /* of the phase: turns, datums, … */
    const json_t *metrics; /* of a finished step, or NULL */
};

struct trainer_options {
    const struct settings *settings; /* train.*, gym.*, policy.*, the judge's */
    const char *directory;
    const struct paths_list *search_paths; /* of problems */
    const _Atomic int *cancelled;
    /* Called one at a time, from any thread. May be NULL. */
    void (*on_progress)(void *context, const struct trainer_progress *progress);
    void *context;
};

struct trainer_result {
    uint64_t steps; /* done, in all */
    uint64_t saved; /* of them in the last checkpoint */
    bool finished;  /* false: it was cancelled */
    char why[64];   /* the reason for the end: "steps", "early stop", "interrupted" */
};

NODISCARD int trainer_run(const struct trainer_options *options, struct trainer_result *result,
                          struct err *err);
