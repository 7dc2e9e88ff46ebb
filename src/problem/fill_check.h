/* fill_check: which fills a type can hold.
 *
 * In two steps, because fill parameters are expressions over the sizes: the kind when a problem is
 * loaded, the values for each set of sizes. What passes both, fill.h stores exactly as described.
 */
#pragma once

#include "problem/layout.h"

#include <stdbool.h>
#include <stddef.h>

/* NULL where arrays (or, with `scalar`, one value) of that type can be filled so; else why not. */
const char *fill_check_kind(enum fill_kind kind, uint32_t dtype, bool scalar);

/* False with a reason where the parameters make no sense or the type cannot hold what comes out. */
bool fill_check_values(enum fill_kind kind, uint32_t dtype, uint64_t count, double a, double b,
                       char *reason, size_t reason_bytes);
