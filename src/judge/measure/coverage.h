/* coverage: whether the candidate's own kernels did the work that its launch trace shows.
 *
 *   H15   launches that the driver refused
 *   H25   more time on the GPU than the pass took
 *   H41   a library's kernels did most or all of it
 *   H44   launches or time that the trace does not explain
 */
#pragma once

#include "judge/measure/trace.h"
#include "judge/measure/trace_reader.h"

#define COVERAGE_LOW 0.3 /* as the rejection sampling of Dr. Kernel, below which nothing is kept */

/* Of the sums that `verdict` has of the stream's records; adds warnings, and a violation. */
void coverage_weigh(const struct trace_stream *stream, const struct trace_pass *pass,
                    struct verdict *verdict);
