/* fill: secret inputs from a seed.
 *
 * Values come from a counter-based generator: element i of argument k depends on (seed, k, i) alone
 * (besides the fill's own parameters), so that filling can be split over threads and is the same on
 * every machine and instruction set.
 *
 * normal       the sum of four uniform 16-bit draws (Irwin-Hall), scaled, which ends at 3.465
 *              deviations; one in 256 is 7/4 as large, so that a third as many lie beyond 3.5, and
 *              as many beyond 4, as of a true normal. One hash for each element. Six more bits
 *              below the last digit make ties rare.
 * uniform      2^24 steps (f64: 2^29); never `high` itself, after rounding to the type either
 * integer      every number about equally often
 * permutation  a keyed bijection of [0, count)
 * offsets      random splits from the whole down to single rows: lengths differ by a few times, and
 *              some rows are empty
 *
 * fill_numbers.c makes normal and uniform fills and integers of at most 32 bits, once for each
 * instruction set; fill.c has the other fills.
 */
#pragma once

#include "problem/layout.h"

/* Fills every in, inout, size and scalar argument of a slot; leaves outputs and guards alone. */
void fill_slot(const struct layout *layout, uint64_t seed, void *slot);

/* One argument, `slot` as above. Refused fills (a type that cannot hold them) never get here:
 * fill_check.h finds them when a problem is loaded. */
void fill_argument(const struct layout_argument *argument, uint32_t index, uint64_t seed,
                   void *slot);
