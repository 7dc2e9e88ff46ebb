/* train_order: which problems a run plays next, by how often they were solved.
 *
 *   shuffled   all, in an order of each epoch
 *   priority   likewise, but a problem stays with the probability 1 - rate (Dr. Kernel's
 *              prioritized sampler)
 *   moderate   likewise: 1 for a rate from low to high, 0.05 (1 - rate) below, 0.1 (1 - rate) above
 *              (its moderate sampler)
 *   target     drawn without replacement by  fresh f / max f + (1 - fresh) g / max g,
 *              f = 1 / (uses + 0.01), g = exp(-½ ((rate - target) / width)²)  (its sampler of solve
 *              rates: a curriculum around problems that are solved as often as `target`)
 *
 * An unknown rate counts as 0 (priority), as moderate, and as the target. Threads: pure.
 */
#pragma once

#include "base/word_table.h"
#include "rl/collect/problem_record.h"

#include <stdint.h>

#define TRAIN_ORDERS(X)                                                                            \
    X(TRAIN_SHUFFLED, "shuffled")                                                                  \
    X(TRAIN_PRIORITY, "priority")                                                                  \
    X(TRAIN_MODERATE, "moderate")                                                                  \
    X(TRAIN_TARGET, "target")
enum train_order_kind { WORD_SYMBOLS(TRAIN_ORDERS) };

struct train_order {
    enum train_order_kind kind;
    double low, high, target, width, fresh;
};

/* The probability that a problem of this rate (NAN: unknown) stays: of the first three kinds. */
double train_order_keep(const struct train_order *order, double rate);
/* Draws `count` of all problems by the weights of `target`; chosen [count]. `draw` numbers the
 * draws. count is at most the number of problems. */
void train_order_draw(const struct train_order *order, const struct problem_records *records,
                      uint64_t seed, uint64_t draw, size_t count, size_t *chosen);
