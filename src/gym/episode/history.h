/* history: the turns of its history with which an episode continues when the conversation is full
 * (test-time scaling: Dr. Kernel, arXiv 2602.05885 section 6.3).
 *
 *   last  the most recent ones
 *   best  the contiguous ones with the highest sum, the first such on ties: the released code
 *   top   those with the highest values, earlier ones on ties: the paper
 *
 * The value `coverage_reward` is the coverage, and among equals the reward: sums of both are
 * compared in this order (`time_coverage_reward` of the released code). All in their original
 * order. Threads: pure.
 */
#pragma once

#include "base/word_table.h"

#include <stddef.h>
#include <stdint.h>

#define HISTORY_SELECTS(X) X(HISTORY_LAST, "last") X(HISTORY_BEST, "best") X(HISTORY_TOP, "top")
enum history_select { WORD_SYMBOLS(HISTORY_SELECTS) };
extern const char *const history_select_names[];

/* The values of turns that `best` and `top` compare. */
#define HISTORY_VALUES(X)                                                                          \
    X(HISTORY_REWARD, "reward")                                                                    \
    X(HISTORY_SPEEDUP, "speedup")                                                                  \
    X(HISTORY_COVERAGE, "coverage")                                                                \
    X(HISTORY_COVERAGE_REWARD, "coverage_reward")
enum history_value { WORD_SYMBOLS(HISTORY_VALUES) };
extern const char *const history_value_names[];

/* What a turn is compared by: `first`, and among equals `second`. */
struct history_worth {
    double first, second;
};

/* Ascending indices of at most `keep` of `count` turns; returns how many. `places` has room for
 * `keep`. */
size_t history_choose(enum history_select select, const struct history_worth *worth, size_t count,
                      size_t keep, size_t *places);

/* The turns of an episode in all iterations, of which the first has `turns`: turns + (iterations -
 * 1) * (turns - remain). */
int64_t history_turns(int64_t turns, int64_t remain, int64_t iterations);
