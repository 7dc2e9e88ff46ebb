/* loss: the losses of the Tinker protocol (reference: "Loss functions"), as pure functions over the
 * tokens of one datum. A loss is a plain sum over tokens; nothing is divided by a count.
 *
 *   p = log π(target), q = logprobs (of the sampler), A = advantages, w = weights, r = exp(p - q)
 *   cross_entropy        -Σ w p
 *   importance_sampling  -Σ r A
 *   ppo                  -Σ min(r A, clip(r, low, high) A); with a dual clip c > 1, where A < 0:
 *                        -Σ max(min(r A, clip(r) A), c A)   (Ye et al. 2020, equation 5)
 *   cispo                -Σ sg(clip(r, low, high)) p A
 *   dro                  -Σ [p A - (β/2)(p - q)²]
 */
#ifndef WARPGYM_LM_TRAIN_LOSS_H
#define WARPGYM_LM_TRAIN_LOSS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Bounds are of the ratio, not epsilons. A NAN stands for the loss's default. */
struct loss_config {
    double clip_low, clip_high; /* ppo 0.8 and 1.2, cispo 0 and 4 */
    double dual_clip;           /* ppo; 0 or default: none */
    double beta;                /* dro 0.05 */
    double entropy;             /* any: minus this times Σ entropy is added to the loss; 0 */
};

/* Arrays of `count` rows (weights and dlogprob: rows × targets_per_row); what a loss does not name may be NULL. */
struct loss_input {
    size_t count, targets_per_row;
    const float *logprob; /* p */
    const float *weights, *sampled /* q */, *advantages;
};

/* Sums over the rows given; add those of several blocks. */
struct loss_sums {
    double loss;
    double tokens;  /* rows that count: weight or advantage other than 0 */
    double clipped; /* of them, where a bound took the gradient away */
    double ratio;   /* Σ r */
    double kl;      /* Σ (q - p), estimator k1 of KL(q || p) */
    double entropy; /* Σ entropy, where known */
};

struct loss {
    const char *name;
    bool ratio; /* needs sampled and advantages; else weights */
    bool soft;  /* several targets per row are fine */
    /* dlogprob (NULL: not wanted) is written. */
    void (*apply)(const struct loss_config *config, const struct loss_input *input, float *dlogprob,
                  struct loss_sums *sums);
};

/* NULL: no such loss. */
const struct loss *loss_find(const char *name);
const struct loss *loss_at(size_t index); /* NULL behind the last */
/* Fills in defaults; refuses bounds that make no sense, and keys that the loss does not have. */
NODISCARD int loss_config_check(const struct loss *loss, struct loss_config *config,
                                struct err *err);

#endif
