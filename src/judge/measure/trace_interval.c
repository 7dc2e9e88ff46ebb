#include "judge/measure/trace_interval.h"

#include "base/mem.h"
#include "judge/measure/trace_reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Clocks and data may make a launch of one call take longer than one of another. */
#define TIMES_LONGER 1.5
#define LONGER_US 2.0
/* Where most calls have a launch of that part of a call's, none did their work: a launch among them
 * that takes long had to wait for another process's context. */
#define OWN_PART 0.5

/* What one call of the driver started, from the first of it to the last. */
struct launch {
    uint32_t correlation;
    uint64_t start_ns, end_ns;
};

static int by_correlation(const void *left, const void *right)
{
    uint32_t x = ((const struct launch *)left)->correlation;
    uint32_t y = ((const struct launch *)right)->correlation;
    return (x > y) - (x < y);
}

static uint64_t duration_ns(const struct launch *launch)
{
    return launch->end_ns - launch->start_ns;
}

static int longest_first(const void *left, const void *right)
{
    uint64_t x = duration_ns(left);
    uint64_t y = duration_ns(right);
    return (x < y) - (x > y);
}

/* Puts what was started together into one; the number of launches. Without a correlation each
 * record is one of its own. */
static uint32_t merge_launches(struct launch *launches, uint32_t count)
{
    uint32_t used = 0;
    qsort(launches, count, sizeof *launches, by_correlation);
    for (uint32_t i = 0; i < count; i++) {
        struct launch *last = &launches[used > 0 ? used - 1 : 0];
        const struct launch *next = &launches[i];
        if (used == 0 || next->correlation == 0 || next->correlation != last->correlation) {
            launches[used++] = *next;
            continue;
        }
        if (next->start_ns < last->start_ns)
            last->start_ns = next->start_ns;
        if (next->end_ns > last->end_ns)
            last->end_ns = next->end_ns;
    }
    return used;
}

static void measure_launches(const struct trace_stream *stream, struct trace_interval *interval)
{
    uint32_t records = stream->header.records;
    uint32_t half = (interval->calls + 1) / 2;
    uint32_t most = half + (interval->calls - half + 1) / 2;
    struct launch *launches = mem_alloc((records + 1) * sizeof *launches);
    for (uint32_t i = 0; i < records; i++)
        launches[i] = (struct launch){.correlation = stream->records[i].correlation,
                                      .start_ns = stream->records[i].start_ns,
                                      .end_ns = stream->records[i].end_ns};
    uint32_t count = merge_launches(launches, records);
    qsort(launches, count, sizeof *launches, longest_first);
    interval->unseen = stream->header.lost < UINT32_MAX ? stream->header.lost : UINT32_MAX;
    interval->launches = count + interval->unseen;
    interval->longest_us = count > 0 ? (double)duration_ns(&launches[0]) * 1e-3 : 0;
    interval->usual_us = half > 0 && count >= half ? (double)duration_ns(&launches[half - 1]) * 1e-3
                                                   : 0;
    interval->most_us = most > 0 && count >= most ? (double)duration_ns(&launches[most - 1]) * 1e-3
                                                  : 0;
    mem_free(launches);
}

int trace_interval_parse(const char *bytes, size_t count, struct trace_interval *interval,
                         struct err *err)
{
    struct trace_stream stream;
    int result = trace_stream_open(bytes, count, &stream, err);
    if (result == 0)
        measure_launches(&stream, interval);
    return result;
}

int trace_interval_read(int fd, struct trace_interval *interval, struct err *err)
{
    char *bytes;
    size_t count;
    int result = trace_stream_load(fd, &bytes, &count, err);
    if (result == 0) {
        result = trace_interval_parse(bytes, count, interval, err);
        mem_free(bytes);
    }
    return result;
}

/* The child's own bell is among the launches. Alone it says that a call's answer is a view of its
 * input; else it stands for the launch of a call, at most. */
static bool starts_too_little(const struct trace_interval *interval)
{
    return interval->launches > 1 && interval->launches < interval->calls;
}

bool trace_interval_shared(const struct trace_interval *interval, double call_us,
                           char evidence[TRACE_INTERVAL_TEXT])
{
    /* Calls that overlap on streams of their own take longer together than one alone: all do. */
    double usual_us = fmax(call_us, interval->usual_us);
    if (starts_too_little(interval))
        snprintf(evidence, TRACE_INTERVAL_TEXT,
                 "%u calls were answered by %" PRIu64 " launches: some started nothing, and others "
                 "did their work",
                 interval->calls, interval->launches - 1);
    else if (interval->longest_us > usual_us * TIMES_LONGER + LONGER_US &&
             interval->most_us < call_us * OWN_PART)
        snprintf(evidence, TRACE_INTERVAL_TEXT,
                 "one of %u calls has a launch of %.4g us, where a call's takes %.4g us: it did "
                 "the work of several",
                 interval->calls, interval->longest_us, usual_us);
    else
        return false;
    return true;
}
