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

#include "base/word_table.h"
#include "judge/verdict.h"

#define COVERAGE_MEASURES(X)                                                                       \
    X(COVERAGE_TIME, "time")                                                                       \
    X(COVERAGE_KERNELS, "kernels")                                                                 \
    X(COVERAGE_NAMED_TIME, "named_time")                                                           \
    X(COVERAGE_NAMED_KERNELS, "named_kernels")
enum coverage_measure { WORD_SYMBOLS(COVERAGE_MEASURES) COVERAGE_MEASURE_COUNT };
extern const char *const coverage_names[];

/* 0 to 1; NAN: unknown, as without a launch trace. `verdict` may be a server's. */
double coverage_read(enum coverage_measure measure, const struct verdict *verdict);
