/* rollout: problems times samples, each an episode, many at once, into a run directory.
 *
 *   run.json            the request; a run resumes only with the same
 *   journal.jsonl       {"episode", "state"} at the start, then {"episode", "answer"} and
 *                       {"episode", "verdict"} as they arrive: written before they take effect
 *   trajectories.jsonl  docs/reference/trajectories.md, a line for each finished episode
 *
 * A killed run loses only work in flight: an answer that the model was writing, a verdict that was
 * being judged. A later call on the directory resumes in the middle of its episodes, with their
 * original configuration; finished episodes are reported again.
 *
 * If the policy refuses an answer (a 4xx, a script without that turn), that episode ends without a
 * trajectory, and the next call tries it again; ROLLOUT_REFUSALS of these in a row, and errors of
 * the whole run (an unavailable endpoint, a full disk), end the run.
 *
 * An episode whose answer cannot be judged (no device for its language, say) is done; so many of
 * these in a row end the run, too.
 *
 * Ownership: options are borrowed. Threads: rollout_run starts `jobs` threads; `on_event` is called
 * one at a time.
 */
#pragma once

#include "base/err.h"
#include "gym/gym.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROLLOUT_REFUSALS 16
#define ROLLOUT_TRAJECTORIES "trajectories.jsonl"

struct policy;
struct evaluator;

struct rollout_event {
    const json_t *trajectory; /* of a finished episode; NULL: a turn is over, or `why` */
    bool found;               /* it was finished before this call */
    const json_t *record;     /* of that turn; NULL */
    const char *problem;      /* its id */
    const struct err *why;    /* an episode failed, or ended unjudged; NULL */
};

struct rollout_options {
    struct gym *gym;
    struct policy *policy;
    struct evaluator *evaluator;
    const char *directory;
    const json_t *configuration; /* of every episode (config.h), without its problem */
    /* As in gym/episode/tasks.h: [{"problem", optional "start", …}, …]; a resumed run keeps its
     * original starts. */
    const json_t *tasks;
    int64_t samples;
    size_t jobs;
    const _Atomic int *cancelled;
    void (*on_event)(void *context, const struct rollout_event *event);
    void *context;
};

struct rollout_counts {
    size_t episodes; /* of the whole run */
    size_t found;    /* finished before */
    size_t resumed;  /* resumed */
    size_t done;     /* in this call */
    size_t failed;   /* tried and not finished */
};

/* 0: every episode is finished or was tried. ERR_CANCELLED; ERR_INPUT: the directory holds another
 * run. `counts` is always filled in. */
NODISCARD int rollout_run(const struct rollout_options *options, struct rollout_counts *counts,
                          struct err *err);
