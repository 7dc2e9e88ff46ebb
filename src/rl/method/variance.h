/* variance: changes of a step's advantages after their estimator, to lessen the gradient's
 * variance. Rows without a bit count; A is a row's mean advantage, W its energy
 * (rl/method/energy.h, of the turn's own tokens), R the number of rows, K that of prompts with two
 * rows or more.
 *
 *   prompts      A · K (1/σ_k²) / Σ (1/σ²),  σ_k² = (mean A² W - (mean A √W)²) / (N_k - 1) of the
 *                prompt's N_k rows (multi-prompt MVU of Dr. Kernel's code); 0 for a prompt of one
 *                row; unchanged if all are so
 *   batch        A · W / mean W · E / (E + V),  E = mean A² W, V = E - (mean A √W)² (its batch
 *                reweighting); both: each of the two factors of the estimator's A
 *   standardise  (A - mean) / σ over the rows; over tokens, if those of some row differ (variance
 *                above 1e-6). Unchanged if σ is below 1e-6 (`batch_std`)
 *
 * The original multiplies `prompts` by the number of rows: the sum of all advantages then grows
 * with the number of samples. Here the mean factor of the K prompts is 1.
 *
 * Ownership: the batch is the caller's. Threads: pure.
 */
#pragma once

#include "rl/method/advantage.h"

#define RL_REWEIGHINGS(X)                                                                          \
    X(RL_REWEIGH_NONE, "none")                                                                     \
    X(RL_REWEIGH_PROMPTS, "prompts")                                                               \
    X(RL_REWEIGH_BATCH, "batch")                                                                   \
    X(RL_REWEIGH_BOTH, "both")
enum rl_reweighing { WORD_SYMBOLS(RL_REWEIGHINGS) };

/* ERR_INPUT: unknown energies. */
NODISCARD int rl_reweigh(struct rl_batch *batch, enum rl_reweighing kind,
                         const struct rl_advantage_options *options, struct err *err);
void rl_standardise(struct rl_batch *batch);
