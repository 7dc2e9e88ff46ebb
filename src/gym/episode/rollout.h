/* rollout: problems times samples, each an episode, many at once, into a run directory.
 *
 *   run.json            what was asked for; a run goes on only with the same
 *   journal.jsonl       {"episode", "state"} when one begins, then {"episode", "answer"} and
 *                       {"episode", "verdict"} as they come: written before they count
 *   trajectories.jsonl  docs/reference/trajectories.md, a line when an episode is done
 *
 * A killed run loses at most what nobody had heard of yet: an answer that was still being written
 * by the model, a verdict that was still being judged. Called again on its directory it goes on in
 * the middle of its episodes, from what they began with the first time; what was done before is
 * told again.
 *
 * An answer that the policy refuses (a 4xx, a script without that turn) ends that episode without a
 * trajectory, and the next call tries it again; ROLLOUT_REFUSALS of them with no answer in between,
 * and everything that concerns the whole run (an endpoint that is away, a full disk), end the run.
 *
 * An episode whose answer nobody can judge (no device for its language, say) is done; so many of
 * them with no verdict in between end the run, too.
 *
 * Threads: rollout_run starts `jobs` of its own; `tell` is called by one at a time.
 */
#ifndef WARPGYM_GYM_EPISODE_ROLLOUT_H
#define WARPGYM_GYM_EPISODE_ROLLOUT_H

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

struct rollout_news {
    const json_t *trajectory; /* of an episode that is done; NULL: a turn is over, or `why` */
    bool found;               /* it was done before */
    const json_t *record;     /* of that turn; NULL */
    const char *problem;      /* its id */
    const struct err *why;    /* an episode could not go on, or ended unjudged; NULL */
};

struct rollout_options {
    struct gym *gym;
    struct policy *policy;
    struct evaluator *evaluator;
    const char *directory;
    const json_t *configuration; /* of every episode (config.h) but for its problem */
    /* As of gym/episode/tasks.h: [{"problem", "start" or absent, …}, …]; a run that is there goes on with
     * its own starts. */
    const json_t *tasks;
    int64_t samples;
    size_t jobs;
    const _Atomic int *cancelled;
    void (*tell)(void *context, const struct rollout_news *news);
    void *context;
};

struct rollout_counts {
    size_t episodes; /* of the whole run */
    size_t found;    /* done before */
    size_t resumed;  /* gone on with */
    size_t done;     /* now */
    size_t failed;   /* not done, though tried */
};

/* 0 when every episode is done or was tried. ERR_CANCELLED; ERR_INPUT: the directory holds another
 * run. `counts` is filled in any case. */
NODISCARD int rollout_run(const struct rollout_options *options, struct rollout_counts *counts,
                          struct err *err);

#endif
