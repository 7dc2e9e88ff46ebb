/* coverage: the share of a candidate's work that its own kernels did, out of its verdict's profile.
 *
 *   measure        share of                 a kernel is the candidate's own
 *   time           time on the GPU          by where its code came from: the judge's word
 *   kernels        kernels, by their names  likewise
 *   named_time     time on the GPU          if its name and that of one of them are equal, or one
 *   named_kernels  kernels, by their names  contains the other, whatever the case of letters
 *
 * Named ones are Dr. Kernel's rule, for comparison: a kernel that is called `add` takes PyTorch's
 * `vectorized_elementwise_kernel<AddFunctor>` for its own. The profile names the kernels that took
 * longest; others are nobody's. The original's CPU time and rows of operators are in no launch
 * trace, and in no sum.
 *
 * Threads: pure.
 */
#ifndef WARPGYM_GYM_REWARD_COVERAGE_H
#define WARPGYM_GYM_REWARD_COVERAGE_H

#include "base/err.h"

#include <jansson.h>

enum coverage_measure {
    COVERAGE_TIME,
    COVERAGE_KERNELS,
    COVERAGE_NAMED_TIME,
    COVERAGE_NAMED_KERNELS
};
#define COVERAGE_MEASURES 4

/* ERR_INPUT with the nearest name. */
NODISCARD int coverage_measure_named(const char *name, enum coverage_measure *measure,
                                     struct err *err);
/* 0 to 1; NAN: not known, as without a launch trace. `verdict` may be a server's, and NULL. */
double coverage_read(enum coverage_measure measure, const json_t *verdict);

#endif
