/* page: one self-contained HTML page of a run: held-out problems before and after, learning curves,
 * a few answers with their verdicts, the settings.
 *
 * "Before" is the first evaluation in the metrics whose trajectories exist, "after" the last one;
 * gym/report compares them, with its intervals. A run without evaluations has the other parts.
 *
 * Ownership: the caller's buffer. Threads: one at a time. Nothing is written to the run.
 */
#pragma once

#include "base/buf.h"
#include "rl/run/run_view.h"

/* `view` has been read, with all of its metrics. ERR_LIMIT, ERR_INPUT: as report_html. */
NODISCARD int run_page(const struct run_view *view, struct buf *out, struct err *err);
