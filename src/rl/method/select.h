/* select: the prompts, rollouts and turns of a step.
 *
 * A prompt whose answers are all alike has advantages of 0 and teaches nothing. The filter marks it
 * (RL_CONSTANT); dynamic sampling (Yu et al. 2025, DAPO, section 3.2) draws others instead; prompts
 * beyond the requested number are dropped (RL_SURPLUS).
 *
 *   filter     a prompt is constant if ...
 *   turns      in each of its groups the values differ by at most a deviation of `deviation`
 *   last_turn  its rollouts' last rewards do (Dr. Kernel's code: early turns do not count)
 *   none       never (kernel_rl: its filter sees one group at a time and keeps it)
 *
 * Draws are numbers (seed, step, prompt) of rl/method/counter_random.h. Ownership: the batch is the
 * caller's. Threads: pure.
 */
#pragma once

#include "rl/method/batch.h"

#define RL_FILTERS(X)                                                                              \
    X(RL_FILTER_TURNS, "turns")                                                                    \
    X(RL_FILTER_LAST_TURN, "last_turn")                                                            \
    X(RL_FILTER_NONE, "none")
enum rl_filter_kind { WORD_SYMBOLS(RL_FILTERS) };

struct rl_filter {
    enum rl_filter_kind kind;
    enum rl_group by; /* of `turns`: the estimator's grouping; the whole batch: no filter */
    unsigned out;     /* rows with one of these bits are ignored; the original includes rejected
                       * ones (RL_REJECTED, RL_VOID) */
    double deviation; /* sample deviation below which values are alike */
    size_t rollouts_least; /* a prompt with fewer usable rollouts is dropped, too; Dr. Kernel K/2 +
                            * 1 */
};
extern const struct rl_filter rl_filter_defaults; /* turns, by turn, RL_ANY, 1e-3, 0 */

struct rl_filter_counts {
    size_t prompts;       /* in the batch */
    size_t usable;        /* left over */
    size_t few, constant; /* dropped; the others had no usable row */
};

/* `values` [rows]: the source of advantages, batch->returns or batch->reward. */
void rl_filter_prompts(struct rl_batch *batch, const struct rl_filter *filter, const double *values,
                       struct rl_filter_counts *counts);

/* How many prompts to draw next, at the rate at which prompts were usable so far (Laplace's rule of
 * succession): only the missing ones; with `whole` all requested ones again, as Dr. Kernel's code.
 * 0: enough, or `rounds_most` rounds were drawn. */
struct rl_draw {
    size_t wanted;
    size_t most; /* of one round */
    size_t rounds_most;
    bool whole;
};
size_t rl_draw_more(const struct rl_draw *draw, size_t usable, size_t drawn, size_t rounds);

/* Marks all prompts with usable rows but `wanted` as RL_SURPLUS: those with the most usable
 * rollouts stay; ties are broken at random. */
void rl_keep_prompts(struct rl_batch *batch, size_t wanted, uint64_t seed, uint64_t step);

/* Which rollouts of a prompt stay when more were played (sample oversampling of Dr. Kernel's code):
 *
 *   random      any
 *   efficient   the last reward R of a rollout decides, and the number n of its tokens: of rollouts
 *               with R > 0 those with the highest R / n, of the others the shortest, in the
 *               proportion of both (at least one of each)
 *   weighted    likewise, but drawn without replacement: with weights softmax(R / n) and
 *               softmax(log of the share of 1 / n)
 */
#define RL_SELECTIONS(X)                                                                           \
    X(RL_SELECT_RANDOM, "random")                                                                  \
    X(RL_SELECT_EFFICIENT, "efficient")                                                            \
    X(RL_SELECT_WEIGHTED, "weighted")
enum rl_selection { WORD_SYMBOLS(RL_SELECTIONS) };

/* Marks all of each prompt's usable rollouts but `wanted` as RL_SURPLUS. */
void rl_keep_rollouts(struct rl_batch *batch, enum rl_selection selection, size_t wanted,
                      uint64_t seed, uint64_t step);

/* Turns that the originals remove from training before anything else is computed, or keep in it;
 * all off by default. */

/* RL_VOID: a turn without reward after one of its rollout with a reward (gym/reward/reward.h's
 * reward_void_turns). Dr. Kernel's code always does so; then breaking a working kernel costs only
 * the missing share of earlier returns. */
void rl_mask_void(struct rl_batch *batch);

/* RL_FAILED: the other turns of a rollout with an excluded one. Dr. Kernel's code masks a whole
 * rollout after an error; the turns before it were judged correctly. */
void rl_mask_failed(struct rl_batch *batch);

/* Clears RL_EXCLUDED: unjudged turns have a reward of 0 and are trained on. kernel_rl does so: an
 * outage then counts against the answer. */
void rl_blame_unjudged(struct rl_batch *batch);
