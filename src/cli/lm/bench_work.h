/* lm_bench_work: the measurements of `warpgym lm bench`, one round at a time.
 *
 * A round measures the machine's rates and the engine's work one right after the other, so that
 * what slows both (neighbours, frequency) cancels in their ratio:
 *
 *   products    a square matrix product of the backend, the best of a few sizes
 *   reading     the sum of squares of an array much larger than the caches
 *   training    forward, backward and one step of AdamW over `tokens` tokens
 *   decoding    `batch` sequences together, without their prompts */
#pragma once

#include "lm/model/model.h"

#define LM_BENCH_BATCHES_MAX 8

struct lm_bench_plan {
    size_t tokens, length; /* of a training step, of one of its sequences */
    size_t prompt, answer; /* tokens of one decoded sequence */
    size_t batches[LM_BENCH_BATCHES_MAX];
    size_t batch_count;
    bool train;
};

struct lm_bench_round {
    double product_flops, read_bytes;           /* a second */
    double train_tokens;                        /* a second; 0: not measured */
    double decode_tokens[LM_BENCH_BATCHES_MAX]; /* a second, of all sequences together */
};

/* Cost of one token. Multiplications and additions of the matrices (6 for each element: 2
 * forward, 4 backward) and of causal attention over a sequence of `length` (12 for each element
 * of a query and position seen); embedding lookups, norms and softmax do not count. */
double lm_bench_train_flops(const struct lm_config *config, size_t length);
/* Bytes that one step of decoding must read: all matrices once, and the caches of `batch`
 * sequences that are `positions` long. */
double lm_bench_decode_bytes(const struct lm_config *config, size_t batch, double positions);

struct lm_bench;

NODISCARD int lm_bench_open(struct lm_bench **out, struct lm_model *model,
                            const struct lm_bench_plan *plan, struct err *err);
NODISCARD int lm_bench_round(struct lm_bench *bench, struct lm_bench_round *round, struct err *err);
void lm_bench_close(struct lm_bench *bench);
