/* play: the episodes of one step. A learner answers, gym/episode keeps the conversation, an
 * evaluator judges.
 *
 *   task (problem) × samples ─► episode ─► messages ─► train_backend_prompt ─► train_backend_sample
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
 * A policy or a judge that is away is asked again, for wait_ms; then that ends all episodes. What a
 * policy refuses (ERR_INPUT, ERR_LIMIT, …) ends its episode alone.
 *
 * Threads: collector_start returns at once, and the episodes run on threads of its own (`jobs`);
 * collector_wait joins them.
 */
#ifndef WARPGYM_RL_COLLECT_COLLECTOR_H
#define WARPGYM_RL_COLLECT_COLLECTOR_H

#include "base/err.h"
#include "gym/gym.h"
#include "policy/train_backend.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct evaluator;
struct collector;

struct rl_turn {
    struct tokens prompt;
    struct train_backend_answer answer;
    double reward, speedup, coverage; /* NAN: not measured */
    bool correct, compiled, format_ok, cheated, excluded;
    bool cut;       /* the answer ran out of tokens */
    json_t *record; /* gym's record of the turn (docs/reference/trajectories.md) */
};

struct rl_rollout {
    const char *problem; /* its id */
    size_t task, sample; /* task from first_task */
    struct rl_turn *turns;
    size_t count;
    json_t *trajectory; /* NULL: it was not played to its end */
    struct err why;     /* then */
};

struct collector_options {
    struct gym *gym;
    struct train_backend *backend;
    struct evaluator *evaluator;
    /* Of every episode (gym/episode/config.h), but for its problem and its sample. Not read after
     * collector_start, nor are tasks. */
    const json_t *configuration;
    struct train_backend_sampling sampling; /* but for its seed */
    bool thinking;                          /* the chat template's */
    bool thinking_open;                     /* answers begin within a block of thinking */
    uint64_t seed, step;
    const char *name;    /* of the episodes' ids: "train" */
    const json_t *tasks; /* [{"problem"}, …] of gym/episode/tasks.h */
    size_t first_task;   /* number of the first, where a step plays in several rounds */
    size_t samples, jobs;
    int64_t wait_ms;
    const _Atomic int *cancelled;
    /* One at a time, from any thread: a turn is over. May be NULL. */
    void (*tell)(void *context, const struct rl_rollout *rollout, const struct rl_turn *turn);
    void *context;
};

NODISCARD int collector_start(struct collector **out, const struct collector_options *options,
                              struct err *err);
/* Rollouts by task and sample, complete, in that order, whenever each ended; they live until
 * collector_free. An error ends all: the learner or the judge is away, or it was cancelled. */
NODISCARD int collector_wait(struct collector *play, const struct rl_rollout **rollouts,
                             size_t *count, struct err *err);
/* Ends what still runs, as soon as it can. NULL is fine. */
void collector_free(struct collector *play);

#endif
