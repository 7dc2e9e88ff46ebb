/* collector: collects the rollouts of one step. The policy answers, gym/episode keeps the
 * conversation, an evaluator judges.
 *
 *   task (problem) × samples ─► episode ─► messages ─► train_backend_prompt ─► train_backend_sample
 *                                  ▲                                                  │ answer
 *                                  └── verdict ◄── evaluator ◄── request ◄────────────┘
 *
 * Every episode becomes a rollout: turns with ids and log-probabilities, rewards and facts. A turn
 * that could not be judged is `excluded`; an episode that failed has no trajectory, and an error.
 *
 * The seed of an answer depends on (seed, step, task, sample, turn) only, so that an episode does
 * not depend on concurrent ones.
 *
 * If the policy or the judge is unavailable, requests are retried for wait_ms; then all episodes
 * end. An error of the policy about one prompt (ERR_INPUT, ERR_LIMIT, …) ends its episode only.
 *
 * Ownership: the collector owns its rollouts. Threads: collector_start returns at once; episodes
 * run on `jobs` threads, which collector_wait joins. Errors: those of the policy and the judge.
 */
#pragma once

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
    bool cut;       /* the answer reached max_tokens */
    json_t *record; /* gym's record of the turn (docs/reference/trajectories.md) */
};

struct rl_rollout {
    const char *problem; /* its id */
    size_t task, sample; /* task counts from first_task */
    bool greedy;         /* the further one of its task: its sample is options.samples */
    struct rl_turn *turns;
    size_t count;
    json_t *trajectory; /* NULL: the episode failed */
    struct err why;     /* the failure */
};

struct collector_options {
    struct gym *gym;
    struct train_backend *backend;
    struct evaluator *evaluator;
    /* Of every episode (gym/episode/config.h), without problem and sample. Only read by
     * collector_start, as tasks. */
    const json_t *configuration;
    struct train_backend_sampling sampling; /* without the seed */
    bool thinking;                          /* of the chat template */
    bool thinking_open;                     /* answers begin inside a thinking block */
    uint64_t seed, step;
    const char *name;    /* prefix of episode ids: "train" */
    const json_t *tasks; /* [{"problem"}, …] of gym/episode/tasks.h */
    size_t first_task;   /* number of the first, for further rounds of a step */
    size_t samples, jobs;
    bool greedy; /* one further episode of each task, of the likeliest answers */
    int64_t wait_ms;
    const _Atomic int *cancelled;
    /* Called after each turn, one call at a time, from any thread. May be NULL. */
    void (*on_turn)(void *context, const struct rl_rollout *rollout, const struct rl_turn *turn);
    void *context;
};

NODISCARD int collector_start(struct collector **out, const struct collector_options *options,
                              struct err *err);
/* Waits for all rollouts: ordered by task and sample, valid until collector_free. An error ends
 * all: policy or judge unavailable, or cancelled. */
NODISCARD int collector_wait(struct collector *collector, const struct rl_rollout **rollouts,
                             size_t *count, struct err *err);
/* Whether all episodes of the task (0 is the first of options.tasks) are over; its rollouts may
 * then be read while others are played: task × (samples + greedy) and on of *rollouts. */
bool collector_task_over(struct collector *collector, size_t task);
const struct rl_rollout *collector_rollouts(const struct collector *collector);
/* Whether it will play no more: then collector_wait returns the reason. */
bool collector_ended(struct collector *collector);
/* Stops running episodes as soon as possible. NULL is fine. */
void collector_free(struct collector *collector);
