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

#include "base/word_table.h"

#include <stddef.h>
#include <stdint.h>

#define WINDOW_SELECTS(X) X(WINDOW_LAST, "last") X(WINDOW_BEST, "best") X(WINDOW_TOP, "top")
enum window_select { WORD_SYMBOLS(WINDOW_SELECTS) };
extern const char *const window_select_names[];

/* The values of turns that `best` and `top` compare. */
#define WINDOW_VALUES(X)                                                                           \
    X(WINDOW_REWARD, "reward") X(WINDOW_SPEEDUP, "speedup") X(WINDOW_COVERAGE, "coverage")
enum window_value { WORD_SYMBOLS(WINDOW_VALUES) };
extern const char *const window_value_names[];

/* Ascending indices of at most `keep` of `count` turns; returns how many. `places` has room for
 * `keep`. */
size_t window_choose(enum window_select select, const double *values, size_t count, size_t keep,
                     size_t *places);

/* The turns of an episode in all iterations, of which the first has `turns`: turns + (iterations -
 * 1) * (turns - remain). */
int64_t window_turns(int64_t turns, int64_t remain, int64_t iterations);
