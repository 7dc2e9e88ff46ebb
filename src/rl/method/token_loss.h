/* token_loss: what losses of today's recipes add to those of lm/train/loss.h, for one turn whose
 * log-probabilities p under the present weights are known.
 *
 *   GSPO (Zheng et al. 2025): the ratio is that of the turn, exp(mean (p - q)) over its tokens, for
 *   each of them; its gradient goes through the token's own p.
 *
 *   KL in the loss, of the trained policy from a base b, each token weighed like the loss:
 *     k1  p - b                       k2  (p - b)²/2
 *     k3  e^x - x - 1 at most 10, x = b - p within ±20  (GRPO)
 *
 * Threads: pure.
 */
#pragma once

#include "base/word_table.h"
#include "lm/train/loss.h"

#define RL_KL_ESTIMATORS(X) X(RL_K1, "k1") X(RL_K2, "k2") X(RL_K3, "k3")
enum rl_kl_estimator { WORD_SYMBOLS(RL_KL_ESTIMATORS) };

/* As loss_apply, with the turn's ratio; of a loss with a ratio. slope [count]. */
void rl_turn_loss(const struct loss *loss, const struct loss_config *config,
                  const struct loss_input *input, float *slope, struct loss_sums *sums);
/* Adds coefficient × weight × KL to the loss and to the slopes. Rows whose base is NAN have
 * none. */
void rl_kl_loss(enum rl_kl_estimator estimator, double coefficient, const struct loss_input *input,
                const float *base, float *slope, struct loss_sums *sums);
