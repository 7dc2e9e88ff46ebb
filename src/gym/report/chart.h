/* report_chart: what the charts of the page share: a card with a title, a plot, its numbers.
 * Threads: one at a time for each buffer.
 */
#pragma once

#include "gym/report/plot.h"
#include "gym/report/report.h"

#define CHART_WIDTH 560
#define CHART_HEIGHT 300
#define CHART_TURNS 32 /* shown at most; the numbers have all */
#define CHART_SHARES 6
#define CHART_SPEEDUPS 16

extern const double chart_shares[CHART_SHARES], chart_speedups[CHART_SPEEDUPS]; /* for ticks */
extern const struct plot_axis chart_whole;                                      /* 0 to 100 % */
extern const struct gym_estimate chart_nothing;

/* `title` and `note` are trusted HTML. */
void chart_open(struct buf *out, const char *title, const char *note, bool wide);
void chart_close(struct buf *out);

void chart_legend_item(struct buf *out, const char *class, const char *text);
/* Each run by its colour; `pairs`: and its dashed line for "at least 1×". */
void chart_legend(const struct report *report, struct buf *out, bool pairs);

/* A line through estimates of shares; `band`: with their intervals. */
void chart_estimates(struct plot *plot, const char *class, const double *x,
                     const struct gym_estimate *estimates, size_t count, bool band);
/* A dot that says "NAME: 72.5 % (95 %: 60.0 to 82.5)". */
void chart_dot(struct plot *plot, const char *class, double x, const char *name,
               const struct gym_estimate *estimate);

/* A table that opens on demand: head cells, then rows. */
void chart_numbers_open(struct buf *out);
void chart_numbers_close(struct buf *out);
void chart_head(struct buf *out, const char *text);
void chart_cell(struct buf *out, const struct gym_estimate *estimate); /* a share */

/* Turns of the longest sample of all runs. */
size_t chart_turns(const struct report *report);

void chart_fast(const struct report *report, struct buf *out);
void chart_pass(const struct report *report, struct buf *out);
void chart_best_of_turns(const struct report *report, struct buf *out);
void chart_mix(const struct report *report, struct buf *out);
void chart_speedup(const struct report *report, struct buf *out);
void chart_pair(const struct report *report, struct buf *out);
