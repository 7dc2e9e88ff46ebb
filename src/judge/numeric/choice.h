/* choice: are two lists of positions as good as each other?
 *
 * An argmax, a topk or a sort returns positions of values. Where values are equal, there are
 * several right answers. Positions agree if the values there do, one by one, within `slack`; where
 * `distinct` (topk, sort), no position may be named twice in a row.
 *
 *   values   [outer, length, inner]
 *   positions   [outer, taken, inner], each from 0 to length - 1
 *
 * A pure function.
 */
#pragma once

#include "problem/dtype.h"

#include <stdbool.h>
#include <stdint.h>

struct choice {
    uint64_t outer, length, taken, inner;
    bool distinct;
    double slack;            /* between two values that are as good as each other */
    uint32_t value_dtype;    /* enum dtype */
    uint32_t position_dtype; /* a whole number */
};

bool choice_agrees(const struct choice *choice, const void *values, const void *expected,
                   const void *got);
