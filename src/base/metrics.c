#include "base/metrics.h"

#include "base/limits.h"
#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define REFRESHERS 8

const double metric_seconds[METRIC_SECONDS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                               0.5,   1,      2.5,   5,    10,    30,   60};

/* `whole`: a counter's value. `real`: a gauge's value or a histogram's sum, as the bit pattern of a
 * double. */
struct metric_series {
    const struct metric *row;
    char *values[METRIC_LABELS];
    _Atomic uint64_t whole;
    _Atomic uint64_t real;
    _Atomic uint64_t buckets[METRIC_BUCKETS + 1]; /* not cumulative; the last is +Inf's */
};

struct family {
    const struct metric *row;
    size_t label_count;
    _Atomic size_t count;
    /* Written once, before `count` covers it. The last slot is for "other". */
    struct metric_series *series[LIMIT_METRIC_SERIES + 1];
};

struct metric_table {
    struct metrics *metrics;
    struct metric_table *next;
    size_t count;
    struct family families[];
};

struct refresher {
    void (*refresh)(void *context);
    void *context;
};

struct metrics {
    pthread_mutex_t lock; /* tables, refreshers, and adding a series */
    struct metric_table *first, **last;
    struct refresher refreshers[REFRESHERS];
    size_t refresher_count;
};

struct metrics *metrics_new(void)
{
    struct metrics *metrics = mem_alloc(sizeof *metrics);
    pthread_mutex_init(&metrics->lock, NULL);
    metrics->last = &metrics->first;
    return metrics;
}

static void free_series(struct metric_series *series)
{
    if (!series)
        return;
    for (size_t i = 0; i < METRIC_LABELS; i++)
        mem_free(series->values[i]);
    mem_free(series);
}

void metrics_free(struct metrics *metrics)
{
    if (!metrics)
        return;
    while (metrics->first) {
        struct metric_table *table = metrics->first;
        metrics->first = table->next;
        for (size_t i = 0; i < table->count; i++)
            for (size_t j = 0; j <= LIMIT_METRIC_SERIES; j++)
                free_series(table->families[i].series[j]);
        mem_free(table);
    }
    pthread_mutex_destroy(&metrics->lock);
    mem_free(metrics);
}

/* [a-zA-Z_][a-zA-Z0-9_]*: colons are for recording rules. */
static bool is_name(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return name && strspn(name, first) > 0 && name[strspn(name, all)] == '\0';
}

static bool is_known(const struct metrics *metrics, const char *name)
{
    for (const struct metric_table *table = metrics->first; table; table = table->next)
        for (size_t i = 0; i < table->count; i++)
            if (strcmp(table->families[i].row->name, name) == 0)
                return true;
    return false;
}

static bool is_sound(const struct metrics *metrics, const struct metric *row)
{
    if (!is_name(row->name) || is_known(metrics, row->name) || row->bound_count > METRIC_BUCKETS)
        return false;
    for (size_t i = 0; i < METRIC_LABELS && row->labels[i]; i++)
        if (!is_name(row->labels[i]) || strcmp(row->labels[i], "le") == 0)
            return false;
    for (size_t i = 1; i < row->bound_count; i++)
        if (!(row->bounds[i - 1] < row->bounds[i]))
            return false;
    return (row->kind == METRIC_HISTOGRAM) == (row->bound_count > 0);
}

static struct metric_series *new_series(const struct family *family, const char *const *labels)
{
    struct metric_series *series = mem_alloc(sizeof *series);
    series->row = family->row;
    for (size_t i = 0; i < family->label_count; i++)
        series->values[i] = mem_strdup(labels ? labels[i] : "other");
    return series;
}

struct metric_table *metrics_add(struct metrics *metrics, const struct metric *rows, size_t count)
{
    if (!metrics)
        return NULL;
    struct metric_table *table = mem_alloc(sizeof *table + count * sizeof *table->families);
    table->metrics = metrics;
    pthread_mutex_lock(&metrics->lock);
    for (size_t i = 0; i < count; i++) {
        struct family *family = &table->families[i];
        if (!is_sound(metrics, &rows[i]))
            abort(); /* a defect of the table */
        family->row = &rows[i];
        while (family->label_count < METRIC_LABELS && rows[i].labels[family->label_count])
            family->label_count++;
        if (family->label_count == 0) { /* shown from the start, at zero */
            family->series[0] = new_series(family, NULL);
            family->count = 1;
        }
        table->count++;
    }
    *metrics->last = table;
    metrics->last = &table->next;
    pthread_mutex_unlock(&metrics->lock);
    return table;
}

static bool has_labels(const struct metric_series *series, const struct family *family,
                       const char *const *labels)
{
    for (size_t i = 0; i < family->label_count; i++)
        if (strcmp(series->values[i], labels[i]) != 0)
            return false;
    return true;
}

static struct metric_series *find(struct family *family, const char *const *labels)
{
    size_t count = atomic_load_explicit(&family->count, memory_order_acquire);
    for (size_t i = 0; i < count; i++)
        if (has_labels(family->series[i], family, labels))
            return family->series[i];
    return NULL;
}

static struct metric_series *find_or_add(struct metrics *metrics, struct family *family,
                                         const char *const *labels)
{
    pthread_mutex_lock(&metrics->lock);
    struct metric_series *series = find(family, labels);
    size_t count = family->count;
    if (!series && count < LIMIT_METRIC_SERIES) {
        series = family->series[count] = new_series(family, labels);
        atomic_store_explicit(&family->count, count + 1, memory_order_release);
    } else if (!series) {
        if (!family->series[LIMIT_METRIC_SERIES])
            family->series[LIMIT_METRIC_SERIES] = new_series(family, NULL);
        series = family->series[LIMIT_METRIC_SERIES];
    }
    pthread_mutex_unlock(&metrics->lock);
    return series;
}

struct metric_series *metrics_series(struct metric_table *table, size_t row,
                                     const char *const *labels)
{
    if (!table)
        return NULL;
    if (row >= table->count)
        abort();
    struct family *family = &table->families[row];
    struct metric_series *series = find(family, labels);
    return series ? series : find_or_add(table->metrics, family, labels);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double value_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void add_real(_Atomic uint64_t *real, double by)
{
    uint64_t before = atomic_load_explicit(real, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(real, &before, bits_of(value_of(before) + by),
                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
}

void metric_count(struct metric_series *series, uint64_t by)
{
    if (series)
        atomic_fetch_add_explicit(&series->whole, by, memory_order_relaxed);
}

void metric_set(struct metric_series *series, double value)
{
    if (series)
        atomic_store_explicit(&series->real, bits_of(value), memory_order_relaxed);
}

void metric_shift(struct metric_series *series, double by)
{
    if (series)
        add_real(&series->real, by);
}

void metric_observe(struct metric_series *series, double value)
{
    if (!series || isnan(value))
        return;
    size_t i = 0;
    while (i < series->row->bound_count && value > series->row->bounds[i])
        i++;
    atomic_fetch_add_explicit(&series->buckets[i], 1, memory_order_relaxed);
    add_real(&series->real, value);
}

void metrics_count(struct metric_table *table, size_t row, const char *const *labels, uint64_t by)
{
    metric_count(metrics_series(table, row, labels), by);
}

void metrics_set(struct metric_table *table, size_t row, const char *const *labels, double value)
{
    metric_set(metrics_series(table, row, labels), value);
}

void metrics_shift(struct metric_table *table, size_t row, const char *const *labels, double by)
{
    metric_shift(metrics_series(table, row, labels), by);
}

void metrics_observe(struct metric_table *table, size_t row, const char *const *labels,
                     double value)
{
    metric_observe(metrics_series(table, row, labels), value);
}

void metrics_on_render(struct metrics *metrics, void (*refresh)(void *context), void *context)
{
    pthread_mutex_lock(&metrics->lock);
    if (metrics->refresher_count == REFRESHERS)
        abort();
    metrics->refreshers[metrics->refresher_count++] = (struct refresher){refresh, context};
    pthread_mutex_unlock(&metrics->lock);
}

static void write_escaped(struct buf *out, const char *text, bool quotes)
{
    for (; *text; text++) {
        if (*text == '\\')
            buf_puts(out, "\\\\");
        else if (*text == '\n')
            buf_puts(out, "\\n");
        else if (*text == '"' && quotes)
            buf_puts(out, "\\\"");
        else
            buf_append(out, text, 1);
    }
}

static void write_real(struct buf *out, double value)
{
    if (isfinite(value))
        buf_double(out, value);
    else
        buf_puts(out, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
}

/* NAME[SUFFIX]{label="value",…[,le="BOUND"]} and a space. `bound` NULL: not a bucket. */
static void write_key(struct buf *out, const struct metric_series *series, const char *suffix,
                      const double *bound)
{
    const struct metric *row = series->row;
    const char *between = "{";
    buf_printf(out, "%s%s", row->name, suffix);
    for (size_t i = 0; i < METRIC_LABELS && row->labels[i]; i++, between = ",") {
        buf_printf(out, "%s%s=\"", between, row->labels[i]);
        write_escaped(out, series->values[i], true);
        buf_puts(out, "\"");
    }
    if (bound) {
        buf_printf(out, "%sle=\"", between);
        write_real(out, *bound);
        buf_puts(out, "\"");
        between = ",";
    }
    buf_puts(out, *between == ',' ? "} " : " ");
}

/* The count is the sum of the buckets, so that the two agree even while values are observed. */
static void write_histogram(struct buf *out, struct metric_series *series)
{
    uint64_t sum = 0;
    for (size_t i = 0; i <= series->row->bound_count; i++) {
        double bound = i < series->row->bound_count ? series->row->bounds[i] : INFINITY;
        sum += series->buckets[i];
        write_key(out, series, "_bucket", &bound);
        buf_printf(out, "%" PRIu64 "\n", sum);
    }
    write_key(out, series, "_sum", NULL);
    write_real(out, value_of(series->real));
    buf_puts(out, "\n");
    write_key(out, series, "_count", NULL);
    buf_printf(out, "%" PRIu64 "\n", sum);
}

static void write_series(struct buf *out, struct metric_series *series)
{
    if (series->row->kind == METRIC_HISTOGRAM) {
        write_histogram(out, series);
        return;
    }
    write_key(out, series, "", NULL);
    if (series->row->kind == METRIC_COUNTER)
        buf_printf(out, "%" PRIu64, series->whole);
    else
        write_real(out, value_of(series->real));
    buf_puts(out, "\n");
}

static void write_family(struct buf *out, struct family *family)
{
    static const char *const kinds[] = {"counter", "gauge", "histogram"};
    size_t count = atomic_load_explicit(&family->count, memory_order_acquire);
    if (count == 0)
        return;
    buf_printf(out, "# HELP %s ", family->row->name);
    write_escaped(out, family->row->help, false);
    buf_printf(out, "\n# TYPE %s %s\n", family->row->name, kinds[family->row->kind]);
    for (size_t i = 0; i < count; i++)
        write_series(out, family->series[i]);
    if (family->series[LIMIT_METRIC_SERIES])
        write_series(out, family->series[LIMIT_METRIC_SERIES]);
}

/* Refreshers run without the lock: they update metrics, which may add a series. */
void metrics_write(struct metrics *metrics, struct buf *out)
{
    struct refresher refreshers[REFRESHERS];
    pthread_mutex_lock(&metrics->lock);
    size_t count = metrics->refresher_count;
    memcpy(refreshers, metrics->refreshers, sizeof refreshers);
    pthread_mutex_unlock(&metrics->lock);
    for (size_t i = 0; i < count; i++)
        refreshers[i].refresh(refreshers[i].context);
    pthread_mutex_lock(&metrics->lock);
    for (struct metric_table *table = metrics->first; table; table = table->next)
        for (size_t i = 0; i < table->count; i++)
            write_family(out, &table->families[i]);
    pthread_mutex_unlock(&metrics->lock);
}
