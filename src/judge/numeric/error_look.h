/* error_look: what a wrong output's error looks like, in words for its author.
 *
 * Where it is comes first: a block boundary, one row in 32, the ends of rows. If it is everywhere,
 * its size says which arithmetic makes one like it (TF32, bfloat16), and how it goes with the
 * values says whether a function is approximated, scaled or shifted. A guess: no verdict rests on
 * it. A pure function.
 */
#pragma once

#include "judge/numeric/compare.h"

#include <stddef.h>

#define ERROR_LOOK_BYTES 160
#define ERROR_LOOK_ELEMENTS ((uint64_t)1 << 24) /* no more are looked at */

/* `spec->count` elements, the first of an output, in rows of `row` elements; `rms` is that of all
 * expected elements. "" where nothing can be said. */
void error_look(const struct comparison *spec, double rms, uint64_t row, const void *expected,
                const void *got, char text[ERROR_LOOK_BYTES]);
