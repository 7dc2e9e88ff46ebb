#include "base/metrics.h"

#include "../support/test.h"
#include "base/limits.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#define THREADS 4
#define TIMES 20000

enum { JOBS, DEPTH, LATENCY, PLAIN, ROWS };

static const double bounds[] = {0.5, 1, 2.5};
static const struct metric rows[ROWS] = {
    [JOBS] = {"jobs_total", "Jobs, \\ and\na line.", METRIC_COUNTER, {"status", "device"}, NULL, 0},
    [DEPTH] = {"depth", "Depth.", METRIC_GAUGE, {NULL}, NULL, 0},
    [LATENCY] = {"latency_seconds", "Latency.", METRIC_HISTOGRAM, {"stage"}, bounds, 3},
    [PLAIN] = {"plain_total", "Plain.", METRIC_COUNTER, {NULL}, NULL, 0},
};

static void refresh(void *context)
{
    metrics_set(context, DEPTH, NULL, -1.5);
}

TEST(text)
{
    struct metrics *metrics = metrics_new();
    struct metric_table *table = metrics_add(metrics, rows, ROWS);
    struct buf out;
    buf_init(&out, 1 << 16);
    metrics_on_render(metrics, refresh, table);
    metrics_count(table, JOBS, (const char *[]){"passed", "cpu"}, 2);
    metrics_count(table, JOBS, (const char *[]){"a\"b\\c\nd", ""}, 1);
    metrics_count(table, JOBS, (const char *[]){"passed", "cpu"}, 1);
    metrics_shift(table, DEPTH, NULL, 5);
    const char *stage = "check";
    const double seen[] = {0.1, 0.5, 0.6, 100, NAN};
    for (size_t i = 0; i < COUNT(seen); i++)
        metrics_observe(table, LATENCY, &stage, seen[i]);
    metrics_write(metrics, &out);
    assert_string_equal(out.data, "# HELP jobs_total Jobs, \\\\ and\\na line.\n"
                                  "# TYPE jobs_total counter\n"
                                  "jobs_total{status=\"passed\",device=\"cpu\"} 3\n"
                                  "jobs_total{status=\"a\\\"b\\\\c\\nd\",device=\"\"} 1\n"
                                  "# HELP depth Depth.\n"
                                  "# TYPE depth gauge\n"
                                  "depth -1.5\n"
                                  "# HELP latency_seconds Latency.\n"
                                  "# TYPE latency_seconds histogram\n"
                                  "latency_seconds_bucket{stage=\"check\",le=\"0.5\"} 2\n"
                                  "latency_seconds_bucket{stage=\"check\",le=\"1\"} 3\n"
                                  "latency_seconds_bucket{stage=\"check\",le=\"2.5\"} 3\n"
                                  "latency_seconds_bucket{stage=\"check\",le=\"+Inf\"} 4\n"
                                  "latency_seconds_sum{stage=\"check\"} 101.2\n"
                                  "latency_seconds_count{stage=\"check\"} 4\n"
                                  "# HELP plain_total Plain.\n"
                                  "# TYPE plain_total counter\n"
                                  "plain_total 0\n");
    buf_deinit(&out);
    metrics_free(metrics);
}

/* As many series as there may be, and one for all others. */
TEST(bounded)
{
    struct metrics *metrics = metrics_new();
    struct metric_table *table = metrics_add(metrics, rows, ROWS);
    struct buf out;
    char name[32];
    size_t lines = 0;
    buf_init(&out, 1 << 20);
    for (size_t i = 0; i < LIMIT_METRIC_SERIES + 10; i++) {
        snprintf(name, sizeof name, "n%zu", i);
        metrics_count(table, JOBS, (const char *[]){name, "cpu"}, 1);
    }
    metrics_write(metrics, &out);
    for (const char *at = out.data; (at = strstr(at, "jobs_total{")); at++)
        lines++;
    assert_int_equal(lines, LIMIT_METRIC_SERIES + 1);
    assert_non_null(strstr(out.data, "jobs_total{status=\"other\",device=\"other\"} 10\n"));
    assert_non_null(strstr(out.data, "jobs_total{status=\"n0\",device=\"cpu\"} 1\n"));
    buf_deinit(&out);
    metrics_free(metrics);
}

static void *update(void *argument)
{
    struct metric_table *table = argument;
    char name[32];
    for (int i = 0; i < TIMES; i++) {
        snprintf(name, sizeof name, "n%d", i % 20);
        metrics_count(table, JOBS, (const char *[]){name, "cpu"}, 1);
        metrics_observe(table, LATENCY, (const char *[]){"check"}, 0.25);
        metrics_shift(table, DEPTH, NULL, 1);
    }
    return NULL;
}

TEST(threads)
{
    struct metrics *metrics = metrics_new();
    struct metric_table *table = metrics_add(metrics, rows, ROWS);
    pthread_t threads[THREADS];
    struct buf out;
    char wanted[128];
    buf_init(&out, 1 << 20);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, update, table), 0);
    metrics_write(metrics, &out);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    buf_reset(&out);
    metrics_write(metrics, &out);
    for (int i = 0; i < 20; i++) {
        snprintf(wanted, sizeof wanted, "{status=\"n%d\",device=\"cpu\"} %d\n", i,
                 THREADS * TIMES / 20);
        assert_non_null(strstr(out.data, wanted));
    }
    snprintf(wanted, sizeof wanted, "_count{stage=\"check\"} %d\n", THREADS * TIMES);
    assert_non_null(strstr(out.data, wanted));
    snprintf(wanted, sizeof wanted, "_sum{stage=\"check\"} %d\n", THREADS * TIMES / 4);
    assert_non_null(strstr(out.data, wanted));
    snprintf(wanted, sizeof wanted, "\ndepth %d\n", THREADS * TIMES);
    assert_non_null(strstr(out.data, wanted));
    buf_deinit(&out);
    metrics_free(metrics);
}

TEST(none)
{
    assert_null(metrics_add(NULL, rows, ROWS));
    metrics_count(NULL, JOBS, (const char *[]){"a", "b"}, 1);
    metrics_observe(NULL, LATENCY, (const char *[]){"a"}, 1);
    assert_null(metrics_series(NULL, DEPTH, NULL));
    metric_shift(NULL, 1);
}
