/* select: which prompts and rollouts a step is made of.
 *
 * A prompt whose answers are all alike has advantages of 0 and teaches nothing. The filter finds
 * those (RL_CONSTANT); with dynamic sampling (Yu et al. 2025, DAPO, section 3.2) others are drawn
 * in their place; of more than were wanted the surplus is dropped (RL_SURPLUS).
 *
 *   filter     a prompt is constant when ...
 *   turns      in each of its groups the values differ by no more than a deviation of `deviation`
 *   last_turn  its rollouts' last rewards do (Dr. Kernel's code: early turns do not count)
 *   none       never (kernel_rl: its filter sees one group at a time and keeps it)
 *
 * Draws are numbers (seed, step, prompt) of rl/method/counter_random.h.
 */
#ifndef WARPGYM_RL_METHOD_SELECT_H
#define WARPGYM_RL_METHOD_SELECT_H

#include "rl/method/batch.h"

enum rl_filter_kind { RL_FILTER_TURNS, RL_FILTER_LAST_TURN, RL_FILTER_NONE };
#define RL_FILTERS 3
extern const char *const rl_filter_names[RL_FILTERS];

struct rl_filter {
    enum rl_filter_kind kind;
    enum rl_group by; /* of `turns`: what the estimator groups by; all of the batch: no filter */
    unsigned out;     /* rows with one of these bits are not looked at; the original looks at those
                         that were rejected, too (RL_REJECTED, RL_VOID) */
    double deviation; /* sample deviation below which values are alike */
    size_t rollouts_least; /* with fewer usable ones a prompt goes, too; Dr. Kernel K/2 + 1 */
};
extern const struct rl_filter rl_filter_defaults; /* turns, by turn, RL_ANY, 1e-3, 0 */

struct rl_filter_counts {
    size_t prompts;       /* that the batch has */
    size_t usable;        /* that are left */
    size_t few, constant; /* that were taken away; the others had no usable row */
};

/* `values` [rows]: what advantages are made of, batch->returns or batch->reward. */
void rl_filter_prompts(struct rl_batch *batch, const struct rl_filter *filter, const double *values,
                       struct rl_filter_counts *counts);

/* How many prompts to draw next, at the rate at which those so far were usable (Laplace's rule of
 * succession): what is missing and no more; with `whole` all that is wanted again, as Dr. Kernel's
 * code. 0: there are enough, or `rounds_most` rounds were drawn. */
struct rl_draw {
    size_t wanted;
    size_t most; /* of one round */
    size_t rounds_most;
    bool whole;
};
size_t rl_draw_more(const struct rl_draw *draw, size_t usable, size_t drawn, size_t rounds);

/* Of the prompts with usable rows all but `wanted` become RL_SURPLUS: those with the most usable
 * rollouts stay, among equals chance decides. */
void rl_keep_prompts(struct rl_batch *batch, size_t wanted, uint64_t seed, uint64_t step);

#endif
