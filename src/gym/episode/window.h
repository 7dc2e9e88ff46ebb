/* window: which turns of its history an episode goes on with, when it has had as many as a
 * conversation holds (test-time scaling: Dr. Kernel, arXiv 2602.05885 section 6.3).
 *
 *   last  the most recent ones
 *   best  the contiguous ones with the highest sum, the first such on ties: the released code
 *   top   those with the highest values, earlier ones on ties: the paper
 *
 * All in the order in which they were played. Threads: pure.
 */
#ifndef WARPGYM_GYM_EPISODE_WINDOW_H
#define WARPGYM_GYM_EPISODE_WINDOW_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum window_select { WINDOW_LAST, WINDOW_BEST, WINDOW_TOP };

/* ERR_INPUT with the names that there are. */
NODISCARD int window_named(const char *name, enum window_select *select, struct err *err);

/* Places, rising, of at most `keep` of `count` turns; how many. `places` has room for `keep`. */
size_t window_choose(enum window_select select, const double *values, size_t count, size_t keep,
                     size_t *places);

/* Turns of an episode with `turns` in its first iteration, in all its iterations: turns +
 * (iterations - 1) * (turns - remain). */
int64_t window_turns(int64_t turns, int64_t remain, int64_t iterations);

#endif
