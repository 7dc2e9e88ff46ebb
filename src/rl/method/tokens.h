/* tokens: from a turn's advantage to what each of its tokens weighs in a loss that is a plain sum.
 *
 *   advantage(token) = (A(row) + offset(token)) · w(token) · ρ(token)   0 where masked or dropped
 *
 * w normalises. R rows have tokens that count, n_i of them row i, n all together:
 *
 *   aggregation              w                loss
 *   token-mean               1 / n            mean over all tokens
 *   seq-mean-token-sum       1 / R            mean over rows of the sum      Dr. Kernel
 *   seq-mean-token-mean      1 / (R n_i)      mean over rows of the mean     GRPO
 *   seq-mean-token-sum-norm  1 / (R L)        as the second, over a constant L = nominal_tokens
 *   seq-sum-no-norm          1                Tinker
 *
 * each divided by `scale` (Dr. Kernel 1000). `nominal_rows` stands for R, where it is not 0: what
 * the rows would be, had none been dropped; then the step is the smaller the more is rejected (Dr.
 * Kernel). By default R is counted.
 *
 * `pad_rows`: the first rows count twice, so that R is a multiple of it. Dr. Kernel's code pads so
 * for its GPUs; it gives a few rows twice the weight.
 *
 * ρ is an importance weight of rl/method/mismatch.h, or nothing.
 */
#pragma once

#include "rl/method/batch.h"

#define RL_AGGREGATIONS(X)                                                                         \
    X(RL_TOKEN_MEAN, "token-mean")                                                                 \
    X(RL_SEQ_MEAN_TOKEN_SUM, "seq-mean-token-sum")                                                 \
    X(RL_SEQ_MEAN_TOKEN_MEAN, "seq-mean-token-mean")                                               \
    X(RL_SEQ_MEAN_TOKEN_SUM_NORM, "seq-mean-token-sum-norm")                                       \
    X(RL_SEQ_SUM, "seq-sum-no-norm")
enum rl_aggregation { WORD_SYMBOLS(RL_AGGREGATIONS) };

struct rl_normalisation {
    enum rl_aggregation aggregation;
    size_t nominal_rows;   /* 0: count them */
    size_t nominal_tokens; /* L; 0: that of the longest row */
    double scale;
    size_t pad_rows; /* 0: none */
};
/* seq-mean-token-mean, counted, 1 */
extern const struct rl_normalisation rl_normalisation_defaults;

/* weight [tokens]; 0 where masked or dropped. */
void rl_token_weights(const struct rl_batch *batch, const struct rl_normalisation *normalisation,
                      double *weight);

/* advantage [tokens] of batch->advantage, batch->offset, weight [tokens] and ρ [tokens] (NULL:
 * 1). */
void rl_token_advantages(const struct rl_batch *batch, const double *weight,
                         const double *importance, double *advantage);

/* The coefficient of a penalty after a step of so many rows whose KL was kl (Ziegler et al. 2019):
 * c (1 + clip(kl / target - 1, -0.2, 0.2) rows / horizon). */
double rl_kl_adapt(double coefficient, double kl, double target, double rows, double horizon);

/* Adds w(token) c (mean d - d) to each token that counts, d = log π_sampled - log π_base: an
 * estimate of the gradient of -c KL(π || base) (Tinker's cookbook). discount > 0: of (mean d - d),
 * a token has its row's discounted sum from itself on. base, weight, advantage [tokens]. Returns
 * mean d. */
double rl_kl_penalty(const struct rl_batch *batch, const float *base, double coefficient,
                     double discount, const double *weight, double *advantage);
