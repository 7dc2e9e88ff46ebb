/* choose: from a row of logits to a token, its log-probability and the most probable ones.
 *
 * The distribution that is sampled from is made in this order: logits / temperature; the top_k most
 * probable stay; of them the smallest set of most probable tokens whose probabilities reach top_p;
 * of them those with at least min_p times the highest probability. Equal logits: the lower id is
 * the more probable one. The most probable token always stays; temperature 0 leaves it alone.
 *
 * A pure function of its arguments but for its scratch memory, which one thread uses at a time.
 */
#pragma once

#include "lm/sample/sampler.h"

/* Room for rows of `vocab`; zero to begin with. */
struct chooser {
    size_t vocab;
    int32_t *order; /* ids: a heap in front, what was taken from it behind */
    float *mass;    /* of each id: exp((logit - highest) / temperature) */
};

void chooser_init(struct chooser *chooser, size_t vocab);
void chooser_deinit(struct chooser *chooser);

/* `uniform` is in [0, 1). `top` has room for sampling->top_logprobs, and may be NULL where that is
 * 0. ERR_INPUT: a logit is NaN or +infinity, or all are -infinity. */
NODISCARD int choose(struct chooser *chooser, const float *logits,
                     const struct lm_sampling *sampling, double uniform, int32_t *id,
                     float *logprob, struct lm_top *top, struct err *err);

/* A given token's log-probability at temperature 1, and the `top_count` most probable ones. */
NODISCARD int choose_score(const float *logits, size_t vocab, int32_t id, float *logprob,
                           struct lm_top *top, size_t top_count, struct err *err);

/* In [0, 1): number `position` of the stream `seed`. No state: any order gives the same numbers. */
double choose_uniform(uint64_t seed, uint64_t position);
