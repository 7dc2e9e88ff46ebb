/* oracle: the layout of one call at double precision.
 *
 * The reference, compiled with `double` in the place of its floating types, works on a second block
 * of memory: the same arguments in the same order, floating ones as DTYPE_F64. Both children derive
 * it from the plain layout, so it never crosses a border.
 */
#pragma once

#include "problem/layout.h"

/* Recomputes offsets and size as layout.h promises them, for the arguments' types and counts. */
void oracle_layout(const struct layout *plain, struct layout *wide);

/* Copies every input, size and scalar of a plain slot into a wide one, converting. */
void oracle_widen(const struct layout *plain, const void *slot, const struct layout *wide,
                  void *wide_slot);
