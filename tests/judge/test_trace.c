/* The reader: streams made here, honest and hostile. */
#include "../support/test.h"
#include "base/file.h"
#include "base/limits.h"
#include "judge/measure/trace.h"
#include "judge/measure/trace_stream.h"
#include "judge/profile_text.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* A stream under construction: offsets 1 and so on of the text are names. */
static struct {
    struct trace_header header;
    struct trace_source sources[4];
    struct trace_record records[64];
    char text[2048];
} made;

static char bytes[sizeof made] __attribute__((aligned(8)));
static size_t count;
static struct verdict verdict;
static struct err err;

static const struct gpu gpu = {.multiprocessors = 132,
                               .memory_bytes_per_s = 4.8e12,
                               .each = {.threads = 2048,
                                        .blocks = 32,
                                        .registers = 65536,
                                        .shared_bytes = 233472,
                                        .warp_threads = 32,
                                        .reserved_bytes = 1024}};
static const struct trace_pass pass = {
    .gpu = &gpu, .calls = 2, .wall_ms = 10, .timed_ms = 0.2, .bytes = 1e8};

static uint32_t text(const char *name)
{
    uint32_t at = made.header.text_bytes;
    size_t length = strlen(name) + 1;
    assert_true(at + length <= sizeof made.text);
    memcpy(made.text + at, name, length);
    made.header.text_bytes += (uint32_t)length;
    return at;
}

static struct trace_record *add(uint32_t kind, uint32_t name, uint32_t source, uint32_t stream,
                                uint64_t start_us, uint64_t us)
{
    struct trace_record *record = &made.records[made.header.records++];
    *record = (struct trace_record){.kind = kind,
                                    .name = name,
                                    .source = source,
                                    .stream = stream,
                                    .start_ns = 1000 * start_us,
                                    .end_ns = 1000 * (start_us + us),
                                    .grid = {8, 1, 1},
                                    .block = {256, 1, 1},
                                    .registers = 96,
                                    .match = TRACE_MATCH_LAUNCH};
    return record;
}

FIXTURE(begin)
{
    memset(&made, 0, sizeof made);
    made.header = (struct trace_header){.magic = TRACE_MAGIC, .text_bytes = 1, .sources = 4};
    made.sources[1].origin = TRACE_LIBRARY;
    made.sources[1].object = text("/opt/libcublasLt.so.13");
    made.sources[2].origin = TRACE_OWN;
    made.sources[2].object = text("/scratch/solution.so");
    made.sources[3].origin = TRACE_GENERATED;
    verdict_init(&verdict);
    err = (struct err){0};
    return 0;
}

FIXTURE(end)
{
    verdict_deinit(&verdict);
    return 0;
}

TEST_EACH(begin, end);

static void put(const void *part, size_t size)
{
    memcpy(bytes + count, part, size);
    count += size;
}

static void pack(void)
{
    count = 0;
    put(&made.header, sizeof made.header);
    put(made.sources, made.header.sources * sizeof *made.sources);
    put(made.records, made.header.records * sizeof *made.records);
    put(made.text, made.header.text_bytes);
}

static void parse(const struct trace_pass *of)
{
    pack();
    assert_ok(trace_parse(bytes, count, of, &verdict, &err), &err);
}

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g instead of %.12g", got, expected);
}

static bool warned(const char *code, const char *evidence)
{
    for (uint32_t i = 0; i < verdict.warning_count; i++)
        if (evidence && strcmp(verdict.warnings[i].code, code) == 0)
            return strstr(verdict.warnings[i].evidence, evidence) != NULL;
    return false;
}

/* Two calls: an own kernel on two streams, one of them over a library's kernel, and a copy. */
static void make_two_calls(void)
{
    uint32_t own = text("void tile<float>(float*)");
    uint32_t gemm = text("sm90_xmma_gemm");
    for (uint64_t call = 0; call < 2; call++) {
        struct trace_record *record = add(TRACE_KERNEL, own, 2, 7, 1000 * call, 60);
        record->static_bytes = 1024;
        record->dynamic_bytes = 2048;
        add(TRACE_KERNEL, own, 2, 8, 1000 * call + 70, call ? 40 : 20)->local_bytes = 64;
        add(TRACE_KERNEL, gemm, 1, 7, 1000 * call + 60, 50);
        add(TRACE_COPY, 0, 0, 7, 1000 * call + 200, 10)->direction = 8;
    }
}

TEST(sums)
{
    make_two_calls();
    parse(&pass);
    const struct launch_totals *all = &verdict.launched;
    assert_int_equal(all->calls, 2);
    assert_int_equal(all->kernels, 3);
    assert_int_equal(all->own_kernels, 1);
    assert_int_equal(all->launches, 8);
    assert_int_equal(all->own_launches, 4);
    assert_int_equal(all->streams, 2);
    assert_near(all->time_us, 300);
    assert_near(all->own_time_us, 180);
    assert_near(all->busy_us, 120 + 120); /* 60 + 50 + 10; 40 us beside the library's */
    assert_near(verdict.own_time_fraction, 0.6);
    assert_near(verdict.own_launch_fraction, 0.5);
    assert_int_equal(verdict.violation_count, 0);
    assert_int_equal(verdict.warning_count, 0);
    assert_int_equal(verdict.kernel_count, 3);
    const struct kernel_share *first = &verdict.kernels[0];
    assert_string_equal(first->name, "void tile<float>(float*)");
    assert_string_equal(first->source, "/scratch/solution.so");
    assert_true(first->own && !first->copy);
    assert_int_equal(first->launches, 4);
    assert_int_equal(first->streams, 2);
    assert_near(first->time_us, 180);
    assert_int_equal(first->registers, 96);
    assert_int_equal(first->shared_bytes, 3072); /* of the longest launch */
    assert_int_equal(first->local_bytes, 0);
    assert_near(first->occupancy, 0.25);
    assert_string_equal(first->limit, "registers");
    assert_false(verdict.kernels[1].own);
    assert_string_equal(verdict.kernels[2].name, "[copy DtoD]");
    assert_true(verdict.kernels[2].copy && isnan(verdict.kernels[2].occupancy));
}

TEST(words_and_json)
{
    static const char *const said[] = {
        "120 us on the GPU in a call (2 calls traced); a call takes 200 us\n",
        "your own kernels: 60.0 % of the GPU's time, 4 of 8 launches, 1 of 3 kernels\n",
        "must move 100 MB: 833.3 GB/s, 17 % of this GPU's 4800\n",
        "60.0 %         90         2  25 % (registers)     own    void tile<float>(float*)\n",
        "grid 8, block 256, 96 registers, 3072 bytes shared\n",
        "libcublasLt.so.13\n",
        "note: void tile<float>(float*) runs 8 blocks on 132 multiprocessors",
        "note: for 40 % of a call the GPU waits for the host: 4 launches a call",
    };
    make_two_calls();
    parse(&pass);
    json_t *json = verdict_json(&verdict);
    const json_t *profile = json_object_get(json, "profile");
    const char *words = json_string_value(json_object_get(profile, "text"));
    for (size_t i = 0; i < COUNT(said); i++)
        if (!strstr(words, said[i]))
            fail_msg("%s is not in:\n%s", said[i], words);
    const json_t *old = json_object_get(profile, "kernelgym");
    assert_int_equal(json_integer_value(json_object_get(old, "num_custom_kernels")), 1);
    assert_int_equal(json_integer_value(json_object_get(old, "num_total_kernels")), 3);
    assert_near(json_real_value(json_object_get(old, "custom_kernel_cuda_time_in_profiling_us")),
                180);
    assert_near(json_real_value(json_object_get(old, "total_kernel_run_time_in_profiling_us")),
                300);
    assert_string_equal(json_string_value(json_object_get(old, "custom_kernel_cuda_time_coverage")),
                        "180.00us/300.00us (60.00%)");
    assert_string_equal(json_string_value(json_object_get(old, "triton_kernel_coverage")),
                        "1/3 (33.33%)");
    assert_true(json_is_false(json_object_get(old, "decoy_kernel")));
    const json_t *first = json_array_get(json_object_get(profile, "kernels"), 0);
    assert_int_equal(json_integer_value(json_object_get(first, "shared_bytes")), 3072);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(first, "block"), 0)), 256);
    assert_string_equal(json_string_value(json_object_get(first, "limited_by")), "registers");
    const json_t *copy = json_array_get(json_object_get(profile, "kernels"), 2);
    assert_null(json_object_get(copy, "grid"));
    json_decref(json);
}

/* More kernels than a verdict names: the longest stay, the sums hold all. */
TEST(many)
{
    for (uint32_t i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%u", i * 7 % 40);
        add(TRACE_KERNEL, text(name), 2, 1, 100ull * i, i * 7 % 40 + 1);
    }
    parse(&pass);
    assert_int_equal(verdict.kernel_count, VERDICT_KERNELS);
    assert_int_equal(verdict.launched.kernels, 40);
    assert_near(verdict.launched.time_us, 820);
    for (uint32_t i = 0; i < VERDICT_KERNELS; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%u", 39 - i);
        assert_string_equal(verdict.kernels[i].name, name);
    }
    struct buf out;
    buf_init(&out, PROFILE_TEXT_BYTES);
    profile_text(&verdict, PROFILE_COLUMNS, &out);
    assert_non_null(strstr(out.data, "in 24 more\n"));
    assert_false(out.cut);
    buf_deinit(&out);
}

TEST(nothing_launched)
{
    parse(&pass);
    assert_true(isnan(verdict.own_time_fraction) && isnan(verdict.own_launch_fraction));
    assert_int_equal(verdict.kernel_count, 0);
    assert_true(warned("H41", "launched nothing"));
}

/* Which kernels need a remark: rows of one kernel of 100 us beside an own one. */
static const struct {
    uint32_t source;
    uint64_t us, own_us;
    int lost; /* -1: a launch was refused; -2: six were asked for */
    double timed_ms, wall_ms;
    const char *code, *evidence; /* NULL: nothing is said */
} weighed[] = {
    {1, 100, 100, 0, 0.1, 10, NULL, NULL},
    {1, 100, 0, 0, 0.1, 10, "H41", "no kernel of its own"},
    {1, 100, 10, 0, 0.1, 10, "H41", "take 9.1 % of the time on the GPU; most is other's"},
    {3, 100, 0, 0, 0.1, 10, "H41", "no kernel of its own"}, /* torch.compile's is not own */
    {0, 100, 100, 0, 0.1, 10, "H44", "50 % of its time on the GPU is code that was not seen"},
    {1, 100, 100, 3, 0.1, 10, "H44", "3 launches are missing"},
    {1, 100, 100, -1, 0.1, 10, "H15", "1 of its launches were refused"},
    {1, 100, 100, -2, 0.1, 10, "H44", "4 launches are missing"},
    {1, 100, 100, 0, 5, 10, "H44", "explain 100 us of the 5000 us"},
    {1, 100, 100, 0, NAN, 10, NULL, NULL},
    {1, 100, 100, 0, 0.1, 0.001, NULL, NULL}, /* within what two clocks may disagree */
    {1, 2000, 2000, 0, 2, 1, "H25", "claims 4000 us on the GPU in a pass of 1000 us"},
};

TEST_WITH(weighing, NULL, end)
{
    for (size_t i = 0; i < COUNT(weighed); i++) {
        begin(state);
        struct trace_pass one = pass;
        one.timed_ms = weighed[i].timed_ms;
        one.wall_ms = weighed[i].wall_ms;
        made.header.lost = weighed[i].lost > 0 ? (uint64_t)weighed[i].lost : 0;
        made.header.failed = weighed[i].lost == -1;
        made.header.launches = weighed[i].lost == -2 ? 6 : 0;
        add(TRACE_KERNEL, text("other"), weighed[i].source, 1, 0, weighed[i].us);
        if (weighed[i].own_us)
            add(TRACE_KERNEL, text("mine"), 2, 1, 5000, weighed[i].own_us);
        parse(&one);
        bool violated = verdict.violation_count == 1 &&
                        strcmp(verdict.violations[0].code, "H25") == 0 && weighed[i].evidence &&
                        strstr(verdict.violations[0].evidence, weighed[i].evidence);
        bool said = weighed[i].code ? violated || warned(weighed[i].code, weighed[i].evidence)
                                    : verdict.warning_count + verdict.violation_count == 0;
        if (!said)
            fail_msg("row %zu: %u warnings, first: %s", i, verdict.warning_count,
                     verdict.warning_count ? verdict.warnings[0].evidence : "-");
        end(state);
    }
    begin(state);
}

TEST(names_are_printable)
{
    char name[TRACE_NAME_BYTES + 100];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    memcpy(name, "\x1b[2J\xc2\x9b\n", 7);
    add(TRACE_KERNEL, text(name), 2, 1, 0, 5);
    add(TRACE_KERNEL, 0, 2, 1, 10, 1);
    parse(&pass);
    assert_int_equal(strlen(verdict.kernels[0].name), TRACE_NAME_BYTES - 1);
    assert_memory_equal(verdict.kernels[0].name, "?[2J???xxx", 10);
    assert_string_equal(verdict.kernels[1].name, "(a kernel without a name)");
}

#define HEADER ((struct trace_header *)(void *)bytes)
#define SOURCES ((struct trace_source *)(void *)(bytes + sizeof made.header))
#define RECORDS ((struct trace_record *)(void *)(SOURCES + made.header.sources))

/* X(name, what is done to a stream, what is said of it) */
#define HOSTILE(X)                                                                                 \
    X(no_header, count = sizeof made.header - 1, "no header")                                      \
    X(empty, count = 0, "no header")                                                               \
    X(truncated, count--, "not as long")                                                           \
    X(longer, bytes[count++] = '\0', "not as long")                                                \
    X(other_magic, HEADER->magic++, "no trace")                                                    \
    X(many_records, HEADER->records = UINT32_MAX, "out of bounds")                                 \
    X(many_sources, HEADER->sources = TRACE_SOURCES + 1, "out of bounds")                          \
    X(no_source, HEADER->sources = 0, "out of bounds")                                             \
    X(much_text, HEADER->text_bytes = UINT32_MAX, "out of bounds")                                 \
    X(no_text, HEADER->text_bytes = 0, "out of bounds")                                            \
    X(text_for_a_record, /* as long as it says, by other parts */                                  \
      (HEADER->records--, HEADER->text_bytes += sizeof *made.records), "damaged")                  \
    X(unterminated, bytes[count - 1] = 'x', "no end")                                              \
    X(text_without_empty, bytes[count - made.header.text_bytes] = 'x', "no end")                   \
    X(foreign_name, RECORDS[1].name = made.header.text_bytes, "not there")                         \
    X(foreign_object, SOURCES[1].object = UINT32_MAX, "impossible")                                \
    X(foreign_source, RECORDS[0].source = made.header.sources, "not there")                        \
    X(strange_kind, RECORDS[0].kind = TRACE_KINDS, "not there")                                    \
    X(strange_match, RECORDS[0].match = TRACE_MATCHES, "not there")                                \
    X(strange_origin, SOURCES[2].origin = TRACE_ORIGINS, "impossible")                             \
    X(strange_evidence, SOURCES[2].evidence = TRACE_EVIDENCES, "impossible")                       \
    X(negative_time, RECORDS[0].end_ns = RECORDS[0].start_ns - 1, "before it begins")              \
    X(endless_time, (RECORDS[0].start_ns = 0, RECORDS[0].end_ns = UINT64_MAX), "more than an hour")

#define X(name, harm, text)                                                                        \
    static void name(void)                                                                         \
    {                                                                                              \
        harm;                                                                                      \
    }
HOSTILE(X)
#undef X

static const struct {
    const char *name;
    void (*harm)(void);
    const char *text;
} hostile[] = {
#define X(name, harm, text) {#name, name, text},
    HOSTILE(X)
#undef X
};

TEST(hostile)
{
    make_two_calls();
    made.records[made.header.records - 1].registers = 0x01010101; /* no NUL where text would be */
    for (size_t i = 0; i < COUNT(hostile); i++) {
        pack();
        hostile[i].harm();
        err = (struct err){0};
        if (trace_parse(bytes, count, &pass, &verdict, &err) != ERR_PROTOCOL ||
            !strstr(err.text, hostile[i].text))
            fail_msg("%s: %d, %s", hostile[i].name, err.code, err.text);
        assert_int_equal(verdict.launched.calls, 0);
        assert_int_equal(verdict.kernel_count, 0);
    }
}

/* Numbers that are possible, one by one, and absurd together. */
TEST(absurd)
{
    struct trace_record *record = add(TRACE_KERNEL, text("absurd"), 2, UINT32_MAX, 0, 1);
    memset(record->grid, 0xFF, sizeof record->grid);
    memset(record->block, 0xFF, sizeof record->block);
    record->registers = record->static_bytes = record->dynamic_bytes = UINT32_MAX;
    record->local_bytes = record->correlation = record->graph = record->direction = UINT32_MAX;
    record->start_ns = UINT64_MAX - 1000;
    record->end_ns = UINT64_MAX;
    add(TRACE_COPY, 0, 0, 0, 0, 0)->direction = UINT32_MAX;
    parse(&pass);
    json_t *json = verdict_json(&verdict);
    assert_non_null(json_object_get(json_object_get(json, "profile"), "text"));
    assert_true(isnan(verdict.kernels[0].occupancy));
    assert_near(verdict.launched.busy_us, 1);
    json_decref(json);
}

TEST(descriptors)
{
    int ends[2];
    make_two_calls();
    pack();
    int fd = file_memory_from("trace", bytes, count, &err);
    assert_true(fd >= 0);
    lseek(fd, 5, SEEK_SET); /* wherever its writer left it */
    assert_int_equal(trace_read(fd, &pass, &verdict, &err), 0);
    assert_int_equal(verdict.kernel_count, 3);
    close(fd);
    fd = file_memory("huge", LIMIT_TRACE_BYTES + 1, &err);
    assert_int_equal(trace_read(fd, &pass, &verdict, &err), ERR_LIMIT);
    close(fd);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(trace_read(ends[0], &pass, &verdict, &err), ERR_PROTOCOL);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(trace_read(-1, &pass, &verdict, &err), ERR_PROTOCOL);
}

TEST(sums_alone)
{
    struct launch_totals sums;
    make_two_calls();
    parse(&pass);
    int fd = file_memory_from("trace", bytes, count, &err);
    assert_ok(trace_sum(fd, 2, &sums, &err), &err);
    assert_int_equal(sums.calls, 2);
    assert_int_equal(sums.launches, verdict.launched.launches);
    assert_int_equal(sums.own_launches, verdict.launched.own_launches);
    assert_near(sums.time_us, verdict.launched.time_us);
    assert_near(sums.own_time_us, verdict.launched.own_time_us);
    assert_near(sums.busy_us, verdict.launched.busy_us);
    close(fd);
    made.header.lost = 1;
    pack();
    fd = file_memory_from("trace", bytes, count, &err);
    assert_int_equal(trace_sum(fd, 2, &sums, &err), ERR_PROTOCOL);
    close(fd);
    assert_int_equal(trace_sum(-1, 2, &sums, &err), ERR_PROTOCOL);
}

/* A verdict of a machine without traces is as it was. */
TEST(without_a_trace)
{
    json_t *json = verdict_json(&verdict);
    const json_t *profile = json_object_get(json, "profile");
    assert_int_equal(json_object_size(profile), 4);
    json_decref(json);
    struct buf out;
    buf_init(&out, PROFILE_TEXT_BYTES);
    profile_text(&verdict, PROFILE_COLUMNS, &out);
    assert_int_equal(out.len, 0);
    buf_deinit(&out);
}
