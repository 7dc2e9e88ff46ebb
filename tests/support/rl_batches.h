/* rl_batches: batches for the tests of src/rl. */
#pragma once

#include "rl/method/batch.h"

/* What batches are made of; for TEST_EACH(NULL, rl_test_free). */
extern struct arena rl_test_arena;
int rl_test_free(void **state);

/* Another number on each call; the same ones from the same *state. */
double rl_test_number(uint64_t *state);
size_t rl_test_below(uint64_t *state, size_t bound);

/* Prompts × rollouts of 1 to `turns` turns of 1 to 4 tokens. With `dropped`, about each fifth row
 * has some bit. Rewards are multiples of 0.25; log-probabilities of both children differ by up to
 * 0.2.
 * */
void rl_test_batch(struct rl_batch *batch, uint64_t *state, size_t prompts, size_t rollouts,
                   size_t turns, bool dropped);
/* One row for each, one token each: rollouts begin where turn is 0. */
void rl_test_rows(struct rl_batch *batch, size_t rows, const uint32_t *prompts,
                  const uint32_t *turns, const double *rewards);
/* The same rollouts in another order; row[i] is where row i of `from` went. */
void rl_test_permute(const struct rl_batch *from, struct rl_batch *to, uint64_t *state,
                     size_t *row);
