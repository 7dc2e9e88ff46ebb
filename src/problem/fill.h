/* fill: secret inputs from a seed.
 *
 * Values come from a counter-based generator: element i of argument k depends on (seed, k, i) alone,
 * so filling can be split over threads and is the same on every machine. `normal` is the sum of four
 * uniform 16-bit draws (Irwin-Hall), scaled to the asked mean and deviation: its tails end at
 * 3.46 deviations, which no kernel may rely on, and it costs one hash per element.
 */
#ifndef WARPGYM_PROBLEM_FILL_H
#define WARPGYM_PROBLEM_FILL_H

#include "problem/layout.h"

/* Fills every in, inout, size and scalar argument of a slot; leaves outputs and guards alone. */
void fill_slot(const struct layout *layout, uint64_t seed, void *slot);

/* One argument, `slot` as above. Refused fills (a type that cannot hold them) never get here:
 * problem.c checks them when it loads a problem. */
void fill_argument(const struct layout_argument *argument, uint32_t index, uint64_t seed,
                   void *slot);

#endif
