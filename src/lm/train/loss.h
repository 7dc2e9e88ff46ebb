/* loss: the losses of the Tinker protocol ("Loss functions"), as pure functions over the
 * tokens of one datum. A loss is a plain sum over tokens; nothing is divided by a count.
 *
 *   p = log π(target), q = logprobs (of the sampler), A = advantages, w = weights, r = exp(p - q)
 *   cross_entropy        -Σ w p
 *   importance_sampling  -Σ r A
 *   ppo                  -Σ min(r A, clip(r, low, high) A); with a dual clip c > 1, where A < 0:
 *                        -Σ max(min(r A, clip(r) A), c A)   (Ye et al. 2020, equation 5)
 *   cispo                -Σ sg(clip(r, low, high)) p A
 *   dro                  -Σ [p A - w (β/2)(p - q)²]
 *   any of the last four: minus the entropy's weight times Σ w entropy
 *
 * The protocol knows w for cross_entropy alone, and so 1 elsewhere. With it, advantages that were
 * divided by a number of tokens can have their square and their entropy divided alike.
 *
 * A row with weight or advantage 0 is masked: it counts in no sum but the loss (dro holds it near q
 * all the same, as its formula says). Where q is unknown, as for a prompt's tokens, it may be NaN
 * if A is 0: then the row adds nothing in any loss. Any other NaN is not hidden: loss and gradient
 * become NaN.
 *
 * r stays below e^20 (4.9e8): p - q is cut there, and a row that is cut has no gradient through r.
 */
#pragma once

#include "base/err.h"
#include "base/word_table.h"

#include <stdbool.h>
#include <stddef.h>

#define LOSS_LOG_RATIO_MAX 20.0

/* Bounds are of the ratio, not epsilons. A NAN stands for the loss's default. */
struct loss_config {
    double clip_low, clip_high; /* ppo 0.8 and 1.2, cispo 0 and 4 */
    double dual_clip;           /* ppo; 0 or default: none */
    double beta;                /* dro 0.05 */
    double entropy;             /* any: minus this times Σ w entropy is added to the loss; 0 */
};
extern const struct loss_config loss_config_defaults; /* all NAN */

/* Arrays of `count` rows (weights and dlogprob: rows × targets_per_row); what a loss does not name
 * may be NULL, and so may weights, which stands for all 1. */
struct loss_input {
    size_t count, targets_per_row;
    const float *logprob; /* p */
    const float *weights, *sampled /* q */, *advantages;
};

/* Sums over the rows given; all but the loss's over those that count.
 *   tokens    rows that count: weight or advantage other than 0
 *   clipped   of them, where a bound took the gradient away (cispo: changed it)
 *   ratio     Σ r
 *   kl        Σ (q - p), estimator k1 of KL(q || p)
 *   entropy   Σ entropy, where known */
#define LOSS_SUMS(X) X(loss) X(tokens) X(clipped) X(ratio) X(kl) X(entropy)
struct loss_sums {
#define X(name) double name;
    LOSS_SUMS(X)
#undef X
};

struct loss {
    const char *name;
    bool ratio; /* needs sampled and advantages; else weights */
    bool soft;  /* several targets per row are fine */
};

/* NULL: no such loss. A loss is one of these, never a copy. */
const struct loss *loss_find(const char *name);
const struct loss *loss_at(size_t index); /* NULL behind the last */
/* The losses of a policy: those with a ratio. */
extern const struct word_table loss_policy_words;
const struct loss *loss_of_policy(int word);
/* Fills in defaults; refuses bounds that make no sense, and keys that the loss does not have. */
NODISCARD int loss_config_check(const struct loss *loss, struct loss_config *config,
                                struct err *err);

/* Writes dlogprob (NULL: not wanted) and *sums. `config` has gone through the check. */
void loss_apply(const struct loss *loss, const struct loss_config *config,
                const struct loss_input *input, float *dlogprob, struct loss_sums *sums);
/* Adds the entropy of the rows that count to the sums, and its part of the loss; dentropy (NULL:
 * not wanted) is written. */
void loss_entropy(const struct loss *loss, const struct loss_config *config,
                  const struct loss_input *input, const float *entropy, float *dentropy,
                  struct loss_sums *sums);
void loss_sums_add(struct loss_sums *to, const struct loss_sums *from);
