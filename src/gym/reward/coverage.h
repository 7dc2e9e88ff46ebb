/* coverage: the share of a candidate's work that its own kernels did, from its verdict's profile.
 *
 *   measure        share of                 a kernel is the candidate's own
 *   time           time on the GPU          by the origin of its code, as the judge found it
 *   kernels        kernels, by their names  likewise
 *   named_time     time on the GPU          if its name equals that of one of them, or one contains
 *   named_kernels  kernels, by their names  the other, ignoring case
 *
 * The named measures are Dr. Kernel's rule, for comparison: a kernel called `add` claims PyTorch's
 * `vectorized_elementwise_kernel<AddFunctor>`. The profile names the longest kernels; others count
 * as not the candidate's. The original's CPU time and operator rows are in no launch trace, and in
 * no sum.
 *
 * Threads: pure.
 */
#pragma once

#include "base/err.h"
#include "judge/verdict.h"

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
/* 0 to 1; NAN: unknown, as without a launch trace. `verdict` may be a server's. */
double coverage_read(enum coverage_measure measure, const struct verdict *verdict);
