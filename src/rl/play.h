/* play: the episodes of one step. A learner answers, gym/episode keeps the conversation, an
 * evaluator judges.
 *
 *   task (problem) × samples ─► episode ─► messages ─► learner_prompt ─► learner_sample
 *                                  ▲                                        │ answer
 *                                  └── verdict ◄── evaluator ◄── request ◄──┘
 *
 * Every episode that ends is a rollout: turns with ids and log-probabilities, rewards and facts.
 * What could not be judged has a turn that is `excluded`; an episode that could not be played at
 * all has no turns, and says why.
 *
 * The seed of an answer is a number of (seed, step, task, sample, turn), so that an episode does
 * not depend on which others run beside it.
 *
 * Threads: play_start returns at once, and the episodes run on threads of its own (`jobs`);
 * play_wait joins them.
 */
#ifndef WARPGYM_RL_PLAY_H
#define WARPGYM_RL_PLAY_H

#include "base/err.h"
#include "gym/gym.h"
#include "policy/learner.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct evaluator;
struct play;

struct play_turn {
    struct tokens prompt;
    struct learner_answer answer;
    double reward, speedup, coverage; /* NAN: not measured */
    bool correct, compiled, format_ok, cheated, excluded;
    bool cut;       /* the answer ran out of tokens */
    json_t *record; /* gym's record of the turn (docs/trajectories.md) */
};

struct play_rollout {
    const char *problem; /* borrowed from the task */
    size_t task, sample;
    struct play_turn *turns;
    size_t count;
    json_t *trajectory; /* NULL: it was not played to its end */
    struct err why;     /* then */
};

struct play_options {
    struct gym *gym;
    struct learner *learner;
    struct evaluator *evaluator;
    const json_t *configuration; /* of every episode (gym/episode_config.h), but for its problem */
    struct learner_sampling sampling;
    bool thinking;
    uint64_t seed, step;
    const json_t *tasks; /* [problem id, …] */
    size_t samples, jobs;
    const _Atomic int *cancelled;
    /* One at a time, from any thread: a turn is over. May be NULL. */
    void (*tell)(void *context, const struct play_rollout *rollout, const struct play_turn *turn);
    void *context;
};

NODISCARD int play_start(struct play **out, const struct play_options *options, struct err *err);
/* Rollouts by task and sample, complete, in that order, whenever each ended; they live until
 * play_free. An error ends all: the learner or the judge is away, or it was cancelled. */
NODISCARD int play_wait(struct play *play, const struct play_rollout **rollouts, size_t *count,
                        struct err *err);
void play_free(struct play *play);

#endif
