/* run_page: one self-contained page of a run: held-out problems before and after, learning curves,
 * what was written and how it was judged, the settings.
 *
 * Before is the first evaluation that the metrics tell of and whose trajectories are there, after
 * the last one; what compares them is gym/report, with its intervals. A run without any has the
 * rest.
 *
 * Threads: one at a time. Nothing is written.
 */
#ifndef WARPGYM_RL_RUN_PAGE_H
#define WARPGYM_RL_RUN_PAGE_H

#include "base/buf.h"
#include "rl/run/view.h"

/* `view` has been read, with all of its metrics. ERR_LIMIT, ERR_INPUT: as report_html. */
NODISCARD int run_page(const struct run_view *view, struct buf *out, struct err *err);

#endif
