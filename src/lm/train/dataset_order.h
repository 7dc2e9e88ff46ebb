/* dataset_order: the order of an epoch, without a table.
 *
 * A Feistel network permutes the numbers below a power of four; one that lands at or above `count`
 * is permuted again until it does not (Black and Rogaway 2002, "cycle walking").
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Which of `count` examples comes at `index`: a permutation for each seed and epoch. */
size_t dataset_order(uint64_t seed, uint64_t epoch, size_t count, size_t index);
