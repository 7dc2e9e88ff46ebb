/* expression: arithmetic over size names, as it stands in problem.yaml ("5*rows*cols").
 *
 *   all     = compare { "and" compare }
 *   compare = sum [ ("==" | "!=" | "<" | "<=" | ">" | ">=") sum ]
 *   sum     = product { ("+" | "-") product }
 *   product = unary { ("*" | "/" | "//" | "%") unary }      // is floor division, % its remainder
 *   unary   = ["-"] primary
 *   primary = number | name | function "(" sum { "," sum } ")" | "(" all ")"
 *   functions: min and max (two or more), ceil_div (two), log2, sqrt
 *
 * Comparisons and `and` yield 0 or 1; a comparison with NaN yields 0. Parsed once into an arena,
 * evaluated over doubles (exact for whole numbers below 2^53). Depth and length are bounded
 * (limits.h). Immutable after parsing, so any number of threads may evaluate it.
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

struct expression;

/* `names` are the `count` names that may stand in it. The error says at which column (from 1). */
NODISCARD int expression_parse(struct arena *arena, const char *text, const char *const *names,
                               uint32_t count, const struct expression **expression,
                               struct err *err);
/* The same with the column apart: *column (from 1) holds the place that the error means, and its
 * text names none. For callers that know where in a file `text` stands. */
NODISCARD int expression_parse_placed(struct arena *arena, const char *text,
                                      const char *const *names, uint32_t count,
                                      const struct expression **expression, uint32_t *column,
                                      struct err *err);
/* Whether a size may not be called so, because it means something here ("min", "and"). */
bool expression_reserves(const char *name);
/* `values` in the order of `names`. Division by zero yields NaN. */
double expression_value(const struct expression *expression, const int64_t *values);
/* Its text, as parsed. */
const char *expression_text(const struct expression *expression);
