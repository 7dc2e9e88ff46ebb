/* fill_plan: how a plain fill (normal, uniform, integer within an int32_t) makes its numbers, as
 * plain parameters for the code that makes them: vector units (fill_numbers.c) or a GPU. All give
 * the same bytes.
 *
 * Element i is offset + scale * k(i), held between bottom and top; k(i) is a whole number below
 * 2^31 in magnitude that comes from fill_bits(key, i) (fill_variant.h). `scale` has a float's 24
 * bits, so that scale * k is exact in double: then the sum is rounded once, fused or not, and all
 * machines agree. Where offset is 0, float arithmetic gives the same value.
 */
#pragma once

#include "problem/layout.h"

#include <stdbool.h>

struct fill_plan {
    uint64_t key;
    uint32_t kind;  /* enum fill_kind */
    uint32_t dtype; /* enum dtype */
    uint64_t bytes; /* of one element */
    double offset, scale;
    double bottom, top;
    uint64_t range;      /* FILL_INTEGER: how many numbers */
    uint32_t draw_shift; /* FILL_UNIFORM: 64 minus the bits of k */
    uint32_t reserved;
};

void fill_plan_init(struct fill_plan *plan, const struct layout_argument *argument, uint64_t key);

/* False: this argument is not filled so (others, and what is no array of inputs). */
bool fill_plan_of(struct fill_plan *plan, const struct layout_argument *argument, uint32_t index,
                  uint64_t seed);
