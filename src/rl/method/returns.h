/* returns: what a turn is credited with, out of the rewards of its rollout (r_t, t = 0 … T).
 *
 *   sum        G_t = r_t + γ G_{t+1}                       reward-to-go (Dr. Kernel, eq. 2; Kevin)
 *   max        G_t = max over t' ≥ t of γ^(t'-t) r_t'      the best that still comes (Kevin)
 *   final      as sum, with all rewards but the last turn's 0 (`use_final_reward`)
 *   turn       G_t = r_t
 *   episode    G_t = sum's G_0, for all turns              tinker-cookbook, with γ = 1
 *   kernel_rl  G_t = Σ over all t' of sum's G_t'           kernel_rl as it is: one figure for all
 *              turns, that pays for solving late (1, 1 + γ, 1 + γ + γ², … times the reward)
 *
 * γ is 1 with Dr. Kernel, 0.4 with Kevin. A row with RL_EXCLUDED is as if it were not there (the
 * turn before sees the one behind, its own return is the next one's); a row with a bit of `without`
 * is there, with a reward of 0.
 *
 * Afterwards, on a rollout's returns: its last turn's gets `bonus` if some turn is correct, else
 * loses `penalty`; `normalise` makes their mean 0 and their deviation (N) 1, if it is above 1e-8
 * (kernel_rl's success_bonus, failure_penalty and normalize_returns; off).
 *
 * Shaping (off; residual rewards of Dr. Kernel's code): r'_t = r_t - r_{t-1} first; `unbiased`
 * replaces the last reward by (1 - γ) r_T before that. gym/reward/reward.h has the recursion
 * itself.
 */
#pragma once

#include "rl/method/batch.h"

struct rl_return_rule {
    const char *name;
    /* Of one rollout; `excluded` [count]. */
    void (*compute)(const double *rewards, const bool *excluded, size_t count, double gamma,
                    double *returns);
};

extern const struct rl_return_rule rl_return_rules[]; /* the last one has no name */
/* NULL: no such name. */
const struct rl_return_rule *rl_return_rule(const char *name);

#define RL_SHAPINGS(X)                                                                             \
    X(RL_UNSHAPED, "none")                                                                         \
    X(RL_RESIDUAL, "residual")                                                                     \
    X(RL_RESIDUAL_UNBIASED, "residual_unbiased")
enum rl_shaping { WORD_SYMBOLS(RL_SHAPINGS) };

struct rl_return_options {
    const struct rl_return_rule *rule;
    double gamma;
    enum rl_shaping shaping;
    /* Bits of enum rl_drop. RL_VOID | RL_COVERAGE: a lazy later turn does not pay earlier ones; the
     * original is RL_VOID. */
    unsigned without;
    double bonus, penalty;
    bool normalise;
};
extern const struct rl_return_options rl_return_defaults; /* sum, 1, none, RL_VOID | RL_COVERAGE */

/* Fills batch->returns. */
void rl_returns(struct rl_batch *batch, const struct rl_return_options *options);
