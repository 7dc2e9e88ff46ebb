/* advantage: how much better a turn was than its group.
 *
 *   A_i = (v_i - b_i) / s_i      over the N members of a group, v the return G or the reward R
 *
 * rl_estimators is the table of estimators: which v, group, b and s. docs/reference/methods.md has
 * it with sources and expectations; tests/rl/test_advantage.c compares the two, and holds every
 * estimator against a definition of its own.
 *
 * σ is the sample deviation (N - 1; with two members, that of the others is 1). With the mean of
 * the others A_i = N/(N-1) (v_i - mean). An estimator of the last turn measures each rollout's last
 * turn and copies the outcome to its other turns. A mean over tokens weighs each row by its
 * unmasked tokens.
 *
 * The optimal baseline Σ e v / Σ e weighs a row by the square of its score with respect to the
 * logits, summed over its masked tokens: e = Σ 1 - 2 π(token) + Σ_a π(a)².
 *
 * A singleton group (N = 1) has its v (the paper: a baseline of 0), or 0 (Tinker's page).
 * All-equal groups give 0 exactly. Dropped rows get 0.
 *
 * Ownership: the batch is the caller's. Threads: pure.
 */
#pragma once

#include "rl/method/batch.h"

enum rl_value { RL_RETURN, RL_REWARD, RL_LAST_RETURN /* of the rollout's last turn */ };
enum rl_baseline {
    RL_BASELINE_GIVEN,
    RL_BASELINE_MEAN,
    RL_BASELINE_OTHERS,
    RL_BASELINE_OPTIMAL,
    RL_BASELINE_TOKENS, /* the mean over tokens; so is the scale's */
};
enum rl_scale {
    RL_SCALE_NONE,      /* 1 */
    RL_SCALE_DEVIATION, /* σ + epsilon */
    RL_SCALE_OTHERS,    /* σ of the others + epsilon */
    RL_SCALE_WHITEN,    /* √(variance + epsilon) */
};

struct rl_estimator {
    const char *name;
    enum rl_value value;
    enum rl_group by;
    enum rl_baseline baseline;
    enum rl_scale scale;
    double epsilon;
};

extern const struct rl_estimator rl_estimators[]; /* the last one has no name */
/* NULL: no such name. */
const struct rl_estimator *rl_estimator(const char *name);

struct rl_advantage_options {
    bool singleton_zero; /* N = 1: 0; else its return */
    /* Rows with one of these bits count in no group. RL_ANY: rows that are not trained on are no
     * measure either; the original, which keeps rejected turns in the baseline, has all but
     * RL_REJECTED. */
    unsigned out;
    const double *baseline; /* [rows], for `return`; NULL: 0 */
};
extern const struct rl_advantage_options rl_advantage_defaults; /* return, RL_ANY, NULL */

/* Fills batch->advantage from batch->returns. ERR_INPUT: an optimal baseline without
 * batch->collision. */
NODISCARD int rl_advantages(struct rl_batch *batch, const struct rl_estimator *estimator,
                            const struct rl_advantage_options *options, struct err *err);
