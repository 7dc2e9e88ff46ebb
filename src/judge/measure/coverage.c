#include "judge/measure/coverage.h"

#include <inttypes.h>

/* The records' clock and the judge's are two: so much may they disagree. */
#define CLOCK_SLACK 1.05
#define CLOCK_SLACK_US 200.0
/* What a launch, and a call, may cost the host before time without work on the GPU is odd. */
#define LAUNCH_US 25.0
#define CALL_US 100.0
#define UNKNOWN_FRACTION 0.01

/* Launches that left no record. Those of a graph under construction leave none, rightly. */
static uint64_t missing_launches(const struct trace_stream *stream)
{
    const struct trace_header *header = &stream->header;
    uint64_t expected = header->launches > header->failed ? header->launches - header->failed : 0;
    uint64_t kernels = 0;
    for (uint32_t i = 0; i < header->records; i++) {
        const struct trace_record *record = &stream->records[i];
        if (record->graph)
            return header->lost;
        kernels += record->kind == TRACE_KERNEL;
    }
    uint64_t silent = expected > kernels ? expected - kernels : 0;
    return silent > header->lost ? silent : header->lost;
}

static double unknown_us(const struct trace_stream *stream)
{
    double us = 0;
    for (uint32_t i = 0; i < stream->header.records; i++) {
        const struct trace_record *record = &stream->records[i];
        if (record->kind == TRACE_KERNEL && stream->sources[record->source].origin == TRACE_UNKNOWN)
            us += trace_record_us(record);
    }
    return us;
}

/* Warnings of one code: the first that holds. */
static void weigh_gaps(const struct trace_stream *stream, struct verdict *verdict)
{
    const struct launch_totals *all = &verdict->launched;
    double unknown = unknown_us(stream);
    double busy_call_us = all->busy_us / all->calls;
    double host_us = CALL_US + LAUNCH_US * (double)all->launches / all->calls;
    uint64_t missing = missing_launches(stream);
    if (missing > 0)
        verdict_warning(verdict, "H44",
                        "%" PRIu64 " launches are missing from its trace: what "
                        "they did counts neither way",
                        missing);
    else if (unknown > UNKNOWN_FRACTION * all->time_us)
        verdict_warning(verdict, "H44",
                        "%.0f %% of its time on the GPU is code that was not seen "
                        "being loaded: it does not count as its own",
                        100 * unknown / all->time_us);
    else if (all->call_us > 2 * (busy_call_us + host_us))
        verdict_warning(verdict, "H44",
                        "its launches explain %.4g us of the %.4g us that a call "
                        "takes: the rest is the host's, or hidden",
                        busy_call_us, all->call_us);
}

static void weigh_coverage(struct verdict *verdict)
{
    const struct launch_totals *all = &verdict->launched;
    const struct kernel_share *other = NULL;
    for (uint32_t i = 0; i < verdict->kernel_count && !other; i++)
        if (!verdict->kernels[i].own)
            other = &verdict->kernels[i];
    if (all->launches == 0)
        verdict_warning(verdict, "H41", "it launched nothing on the GPU");
    else if (all->own_launches == 0)
        verdict_warning(verdict, "H41",
                        "it launched no kernel of its own: library code does all "
                        "of the work");
    else if (verdict->own_time_fraction < COVERAGE_LOW)
        verdict_warning(verdict, "H41",
                        "its own kernels take %.1f %% of the time on the GPU; most "
                        "is %.100s's",
                        100 * verdict->own_time_fraction, other ? other->name : "others");
}

void coverage_weigh(const struct trace_stream *stream, const struct trace_pass *pass,
                    struct verdict *verdict)
{
    double wall_us = pass->wall_ms * 1e3;
    if (verdict->launched.busy_us > wall_us * CLOCK_SLACK + CLOCK_SLACK_US)
        verdict_violation(verdict, "H25",
                          "its launch trace claims %.4g us on the GPU in a pass "
                          "of %.4g us",
                          verdict->launched.busy_us, wall_us);
    if (stream->header.failed > 0)
        verdict_warning(verdict, "H15",
                        "%u of its launches were refused by the driver, and it went on without "
                        "them",
                        stream->header.failed);
    weigh_gaps(stream, verdict);
    weigh_coverage(verdict);
}
