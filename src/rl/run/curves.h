/* run_curves: what a run's metrics looked like over its steps, as charts of a page. */
#ifndef WARPGYM_RL_RUN_CURVES_H
#define WARPGYM_RL_RUN_CURVES_H

#include "base/buf.h"
#include "rl/run/series.h"

/* A chart for each subject that the run tells of, with its numbers as a table. Nothing where there
 * are no metrics. */
void run_curves(const struct run_series *series, struct buf *out);

#endif
