/* window: the turns of its history with which an episode continues when the conversation is full
 * (test-time scaling: Dr. Kernel, arXiv 2602.05885 section 6.3).
 *
 *   last  the most recent ones
 *   best  the contiguous ones with the highest sum, the first such on ties: the released code
 *   top   those with the highest values, earlier ones on ties: the paper
 *
 * All in their original order. Threads: pure.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum window_select { WINDOW_LAST, WINDOW_BEST, WINDOW_TOP };

/* ERR_INPUT with the valid names. */
NODISCARD int window_named(const char *name, enum window_select *select, struct err *err);

/* Ascending indices of at most `keep` of `count` turns; returns how many. `places` has room for
 * `keep`. */
size_t window_choose(enum window_select select, const double *values, size_t count, size_t keep,
                     size_t *places);

/* The turns of an episode in all iterations, of which the first has `turns`: turns + (iterations -
 * 1) * (turns - remain). */
int64_t window_turns(int64_t turns, int64_t remain, int64_t iterations);
