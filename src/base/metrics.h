/* metrics: counters, gauges and histograms, as Prometheus reads them (text exposition 0.0.4).
 *
 * A module declares its metrics as a table and adds the table to a registry; a metric is then named
 * by the table's handle and the row's index. Labels have a name in the row and values at the
 * update: the first LIMIT_METRIC_SERIES different values of one metric get a series each, all
 * others share the value "other", so that what a stranger sends can't grow the registry without
 * bound.
 *
 *   enum { REQUESTS, LATENCY };
 *   static const struct metric rows[] = {
 *       [REQUESTS] = {"warpgym_requests_total", "Requests", METRIC_COUNTER, {"route", "status"}},
 *       [LATENCY] = {"warpgym_request_seconds", "From …", METRIC_HISTOGRAM, {"route"},
 *                    metric_seconds, METRIC_SECONDS},
 *   };
 *   struct metric_table *table = metrics_add(metrics, rows, 2);
 *   metrics_count(table, REQUESTS, (const char *[]){"/v1/x", "200"}, 1);
 *
 * An update of a series that exists takes no lock. Updates never fail. Threads: any function from
 * any thread; metrics_free after the last one.
 */
#pragma once

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

#define METRIC_LABELS 3   /* of one metric */
#define METRIC_BUCKETS 16 /* of one histogram, besides +Inf */

struct metrics;
struct metric_table;
struct metric_series;

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric {
    const char *name;
    const char *help;
    enum metric_kind kind;
    const char *labels[METRIC_LABELS]; /* names; NULL: no more */
    const double *bounds;              /* of a histogram, rising */
    size_t bound_count;
};

/* A row of a gauge: name, help, names of labels. */
#define METRIC_GAUGE_ROW(metric, text, ...)                                                        \
    {                                                                                              \
        .name = (metric), .help = (text), .kind = METRIC_GAUGE, .labels = { __VA_ARGS__ }          \
    }

/* 1 ms to 60 s. */
#define METRIC_SECONDS 15
extern const double metric_seconds[METRIC_SECONDS];

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/* The rows must outlive the registry. A duplicate or invalid name is a defect and ends the process.
 * The registry owns the handle. */
struct metric_table *metrics_add(struct metrics *metrics, const struct metric *rows, size_t count);

/* `labels`: a value for each name of the row, in its order; NULL where it has none. Updates of a
 * NULL table do nothing. */
void metrics_count(struct metric_table *table, size_t row, const char *const *labels, uint64_t by);
void metrics_set(struct metric_table *table, size_t row, const char *const *labels, double value);
void metrics_shift(struct metric_table *table, size_t row, const char *const *labels, double by);
void metrics_observe(struct metric_table *table, size_t row, const char *const *labels,
                     double value);

/* The series of these labels, for hot paths that update one often. It lives as long as the
 * registry. */
struct metric_series *metrics_series(struct metric_table *table, size_t row,
                                     const char *const *labels);
void metric_count(struct metric_series *series, uint64_t by);
void metric_set(struct metric_series *series, double value);
void metric_shift(struct metric_series *series, double by);
void metric_observe(struct metric_series *series, double value);

/* Called before each rendering, from the thread that renders: for gauges whose value is read on
 * demand. */
void metrics_on_render(struct metrics *metrics, void (*refresh)(void *context), void *context);

/* All of it, in the order in which it was added. */
void metrics_write(struct metrics *metrics, struct buf *out);
