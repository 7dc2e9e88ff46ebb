/* Whether calls did their own work, by traces made here. */
#include "../support/test.h"
#include "base/file.h"
#include "judge/measure/trace_interval.h"
#include "judge/measure/trace_stream.h"

#include <math.h>
#include <unistd.h>

#define RECORDS 512

static struct {
    struct trace_header header;
    struct trace_source source;
    struct trace_record records[RECORDS];
    char text[8];
} made;

static char bytes[sizeof made] __attribute__((aligned(8)));
static size_t count;
static struct err err;

/* The bell, then so many launches: the first of `first_us`, the others of `us`. In a graph they
 * have one correlation, and follow each other. */
static void make(uint32_t launches, uint32_t first_us, uint32_t us, bool graph, uint64_t lost)
{
    uint64_t now_ns = 1000;
    made.header = (struct trace_header){
        .magic = TRACE_MAGIC, .sources = 1, .records = launches + 1, .text_bytes = 1, .lost = lost};
    assert_true(launches < RECORDS);
    for (uint32_t i = 0; i <= launches; i++) {
        uint32_t each_us = i == 0 ? 1 : i == 1 ? first_us : us;
        made.records[i] = (struct trace_record){.kind = i == 0 ? TRACE_SET : TRACE_KERNEL,
                                                .correlation = i == 0 || !graph ? i + 7 : 99,
                                                .start_ns = now_ns,
                                                .end_ns = now_ns + 1000ull * each_us};
        now_ns += 1000ull * each_us;
    }
    count = 0;
    const struct {
        const void *part;
        size_t size;
    } parts[] = {
        {&made.header, sizeof made.header},
        {&made.source, sizeof made.source},
        {made.records, made.header.records * sizeof *made.records},
        {made.text, 1},
    };
    for (size_t i = 0; i < COUNT(parts); i++) {
        memcpy(bytes + count, parts[i].part, parts[i].size);
        count += parts[i].size;
    }
}

static const struct {
    const char *what;
    uint32_t calls, launches, first_us, us;
    bool graph;
    uint64_t lost;
    double call_us;
    const char *evidence; /* NULL: nothing is wrong */
} rows[] = {
    {"one launch each", 100, 100, 5, 5, false, 0, 5, NULL},
    {"several each", 50, 200, 5, 5, false, 0, 5, NULL},
    {"views", 100, 0, 0, 0, false, 0, 0, NULL},
    {"one for all", 100, 1, 500, 0, false, 0, 5, "100 calls were answered by 1 launches"},
    {"half of them", 100, 50, 10, 10, false, 0, 5, "100 calls were answered by 50 launches"},
    {"one graph for all", 100, 100, 5, 5, true, 0, 5, "100 calls were answered by 1 launches"},
    {"lost records may be launches", 100, 60, 5, 5, false, 40, 5, NULL},
    {"too few were lost", 100, 60, 5, 5, false, 10, 5, "by 70 launches"},
    {"trifles", 100, 100, 500, 1, false, 0, 5, "one of 100 calls has a launch of 500 us"},
    {"a cold start", 100, 100, 30, 5, false, 0, 5, NULL},
    {"a clock that was slow", 100, 100, 590, 200, false, 0, 195, NULL},
    {"another context's turn in one of them", 61, 61, 410, 47, false, 0, 47, NULL},
    {"all slower than one alone", 100, 100, 500, 400, false, 0, 5, NULL},
    {"a few are long", 100, 100, 500, 5, false, 0, 150, "where a call's takes 150 us"},
    {"nothing is known of a call", 100, 100, 500, 5, false, 0, INFINITY, NULL},
    {"two calls in one", 2, 1, 900, 0, false, 0, 500, NULL}, /* the bell may be a call's */
};

TEST(rows)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct trace_interval interval = {.calls = rows[i].calls};
        char evidence[TRACE_INTERVAL_TEXT] = "";
        make(rows[i].launches, rows[i].first_us, rows[i].us, rows[i].graph, rows[i].lost);
        assert_int_equal(trace_interval_parse(bytes, count, &interval, &err), 0);
        assert_int_equal(interval.unseen, rows[i].lost);
        bool shared = trace_interval_shared(&interval, rows[i].call_us, evidence);
        if (shared != (rows[i].evidence != NULL) || (shared && !strstr(evidence, rows[i].evidence)))
            fail_msg("%s: %s", rows[i].what, shared ? evidence : "nothing was found");
    }
}

/* Records that no call of the driver is known of are each one of their own. */
TEST(without_correlations)
{
    struct trace_interval interval = {.calls = 3};
    make(3, 5, 5, false, 0);
    struct trace_record *records = (void *)(bytes + sizeof made.header + sizeof made.source);
    for (uint32_t i = 0; i <= 3; i++)
        records[i].correlation = 0;
    assert_int_equal(trace_interval_parse(bytes, count, &interval, &err), 0);
    assert_int_equal(interval.launches, 4);
    assert_true(interval.longest_us == 5 && interval.usual_us == 5);
}

TEST(damaged)
{
    struct trace_interval interval = {.calls = 3};
    make(3, 5, 5, false, UINT64_MAX); /* whatever it claims */
    assert_int_equal(trace_interval_parse(bytes, count, &interval, &err), 0);
    assert_true(interval.launches >= interval.unseen && interval.unseen == UINT32_MAX);
    assert_int_equal(trace_interval_parse(bytes, count - 1, &interval, &err), ERR_PROTOCOL);
    int fd = file_memory_from("trace", bytes, 0, &err);
    assert_true(fd >= 0);
    assert_int_equal(trace_interval_read(fd, &interval, &err), ERR_PROTOCOL); /* never written */
    close(fd);
}
