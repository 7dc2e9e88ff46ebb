/* advantage: how much better a turn was than its group.
 *
 *   A_i = (v_i - b_i) / s_i      over the N members of a group, v the return G or the reward R
 *
 *   estimator              v  group         b                    s
 *   trloo                  G  prompt, turn  mean of the others   1      Dr. Kernel, equation 5
 *   grpo                   G  prompt, turn  mean                 1      Dr. Kernel's, Tinker's
 *   grpo_std               G  prompt, turn  mean                 σ + 1e-6      Shao et al. 2024
 *   turn_independent_grpo  R  prompt        mean                 1      Dr. Kernel's code
 *   erloo                  G  prompt        mean of the others   1      likewise
 *   erloo_norm             G  prompt        mean of the others   σ of the others + 1e-8
 *   reinforce              G  batch         mean                 σ + 1e-6
 *   egae                   G  batch         mean over tokens     √(variance over tokens + 1e-8)
 *   return                 G  -             baseline[row], or 0  1      Williams 1992; ReMax with a
 *                                                                       greedy answer's
 *   turn_optimal_baseline  G  prompt, turn  Σ e v / Σ e          1      Greensmith et al. 2004;
 *   optimal_baseline       G  prompt        Σ e v / Σ e          1      e = |∇ log π|², below
 *   and of the rollout's last turn alone, copied to its other turns:
 *   rloo                   G  prompt        mean of the others   1      Ahmadian et al. 2024
 *   grpo_last, grpo_std_last                mean                 1, or σ + 1e-6
 *   reinforce_plus_plus    G  batch         mean over tokens     √(variance over tokens + 1e-8)
 *                                                                       Hu 2025, γ = 1, no KL
 *
 * σ is the sample deviation (N - 1; with two members, "σ of the others" is 1). Mean of the others:
 * A_i = N/(N-1) (v_i - mean) = N/(N-1) A_grpo. Expectations: with the mean of the others, or any
 * baseline that a turn's own tokens cannot move, Σ A ∇log π is ∇J; with the mean it is (1 - 1/N) ∇J
 * (Dr. Kernel, equation 4); divided by σ it is the gradient of something else. A group's N differs
 * between turns where rollouts end early: there trloo and grpo differ by more than a factor. With
 * all turns of a prompt in one group (erloo) a turn's own rollout is among the others, and moves
 * their mean.
 *
 * egae is Dr. Kernel's (the return on a turn's last token, GAE over its tokens, whitened over those
* of the batch) for γ = λ = 1 and a critic of 0: no policy here has another critic.
* reinforce_plus_plus is likewise its `gae` of the last turn.
 *
 * Optimal baselines weigh a row by the square of its score with respect to the logits, summed over
 * its masked tokens: e = Σ 1 - 2 π(token) + Σ_a π(a)².
 *
 * erloo_norm is kept as it is: one success among failures has an advantage of 1e8 times its reward.
 *
* A singleton group (N = 1) has its v (the paper: a baseline of 0), or 0 (Tinker's page).
 * All-equal groups give 0 exactly. Dropped rows get 0.
*
* Ownership: the batch is the caller's. Threads: pure.
*/
#pragma once

#include "rl/method/batch.h"

enum rl_baseline { RL_BASELINE_GIVEN, RL_BASELINE_MEAN, RL_BASELINE_OTHERS, RL_BASELINE_OPTIMAL };
enum rl_scale { RL_SCALE_NONE, RL_SCALE_DEVIATION, RL_SCALE_OTHERS, RL_SCALE_WHITEN };

struct rl_estimator {
    const char *name, *equation;
    enum rl_group by;
    enum rl_baseline baseline;
    enum rl_scale scale;
    bool rewards;   /* v is the turn's reward; else its return */
    bool last_turn; /* of each rollout, copied to its other rows */
    bool by_tokens; /* a row counts as often as it has tokens */
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
