/* token_advantage: the parts of rl/method/advantage.h whose outcome differs between the tokens of a
 * row. Threads: pure. */
#pragma once

#include "rl/method/advantage.h"

/* One baseline for each position of the group's rows; path [tokens] of rl_energies, value [count]
 * of the rows. Fills advantage and offset of these rows. */
void rl_advantage_positions(struct rl_batch *batch, const size_t *rows, const double *values,
                            size_t count, const double *path);
/* The generalised advantage of the row's unmasked tokens, as if the others were not there, with
 * reward `value` at the last one. */
void rl_advantage_critic(struct rl_batch *batch, size_t row, double value,
                         const struct rl_advantage_options *options);
/* Makes batch->advantage the mean of the row's tokens, of which batch->offset has all; `otherwise`
 * if none is unmasked. */
void rl_advantage_settle(struct rl_batch *batch, size_t row, double otherwise);
/* Subtracts the mean over the tokens of these rows, and divides by √(variance + epsilon); a single
 * token stays. */
void rl_advantage_whiten(struct rl_batch *batch, const size_t *rows, size_t count, double epsilon);
