/* runs_held_out: results of several runs on their common held-out problems. */
#pragma once

#include "base/buf.h"
#include "gym/report/report.h"
#include "rl/run/run_view.h"

/* The evaluations at the last step up to `step` that all runs have (*at); the first run is the
 * baseline. *out NULL: no such step, or more runs than a report compares (REPORT_RUNS). */
NODISCARD int runs_held_out(const struct run_view *views, size_t count, uint64_t step,
                            struct report **out, uint64_t *at, struct err *err);
/* Main figures of each, and differences with their intervals. */
void runs_held_out_table(const struct report *report, uint64_t at, bool colour, struct buf *out);
