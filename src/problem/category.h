/* category: the kinds of problems, a fixed list: what a kernel of that kind is made of.
 *
 * Reports group by it, and a retrieved example is worth most where it is of the same kind.
 */
#pragma once

#include "base/mem.h"

#include <stdint.h>

/* In the order of error messages and docs; NULL behind the last. */
extern const char *const category_names[];
extern const uint32_t category_count;

/* The name in the list that `text` is; NULL: it is none. */
const char *category_find(const char *text);
/* The message for an unknown one: "unknown category 'matmol' (did you mean 'matmul'?)", or all of
 * them. */
const char *category_complaint(struct arena *arena, const char *text);
