#include "judge/measure/trace.h"

#include "base/array.h"
#include "device/gpu_occupancy.h"
#include "judge/measure/coverage.h"
#include "judge/measure/trace_reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct entry { /* a record, with what it is sorted by */
    const struct trace_record *record;
    bool own;
};

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int by_kernel(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    const struct trace_record *x = a->record;
    const struct trace_record *y = b->record;
    int order = ORDER(x->kind, y->kind);
    if (order == 0)
        order = ORDER(x->name, y->name);
    if (order == 0)
        order = ORDER(x->direction, y->direction);
    if (order == 0)
        order = ORDER(a->own, b->own);
    return order ? order : ORDER(x->stream, y->stream);
}

static bool same_kernel(const struct entry *a, const struct entry *b)
{
    return a->record->kind == b->record->kind && a->record->name == b->record->name &&
           a->record->direction == b->record->direction && a->own == b->own;
}

static int by_start(const void *left, const void *right)
{
    const struct trace_record *x = ((const struct entry *)left)->record;
    const struct trace_record *y = ((const struct entry *)right)->record;
    int order = ORDER(x->device, y->device);
    return order ? order : ORDER(x->start_ns, y->start_ns);
}

static int by_stream(const void *left, const void *right)
{
    const struct trace_record *x = ((const struct entry *)left)->record;
    const struct trace_record *y = ((const struct entry *)right)->record;
    int order = ORDER(x->device, y->device);
    return order ? order : ORDER(x->stream, y->stream);
}

/* Printable ASCII: it is shown on terminals. */
static const char *keep_text(struct arena *arena, const char *text)
{
    char *copy = arena_strndup(arena, text, strnlen(text, TRACE_NAME_BYTES - 1));
    for (char *at = copy; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    return copy;
}

static const char *name_of(const struct trace_stream *stream, const struct trace_record *record,
                           struct arena *arena)
{
    /* CUpti_ActivityMemcpyKind: to and from host (H), device (D), array (A), peer (P) */
    static const char *const ways[] = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                       "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
    if (record->kind == TRACE_SET)
        return "[memset]";
    if (record->kind == TRACE_COPY)
        return arena_printf(arena, "[copy %s]",
                            record->direction < COUNT(ways) ? ways[record->direction] : "");
    const char *name = keep_text(arena, stream->text + record->name);
    return *name ? name : "(a kernel without a name)";
}

/* A kernel that may be among those that the verdict names. */
struct ranked {
    struct kernel_share share;
    const struct trace_record *longest;
};

struct ranking {
    struct ranked items[VERDICT_KERNELS]; /* longest time first */
    uint32_t count;
};

static void rank_kernels(struct ranking *ranking, const struct ranked *one)
{
    uint32_t at = ranking->count;
    if (at < VERDICT_KERNELS)
        ranking->count++;
    else if (ranking->items[--at].share.time_us >= one->share.time_us)
        return;
    for (; at > 0 && ranking->items[at - 1].share.time_us < one->share.time_us; at--)
        ranking->items[at] = ranking->items[at - 1];
    ranking->items[at] = *one;
}

/* One kernel: entries of one group, sorted by stream. */
static void add_kernel(const struct entry *entries, size_t count, struct launch_totals *all,
                       struct ranking *ranking)
{
    struct ranked one = {.longest = entries[0].record};
    struct kernel_share *share = &one.share;
    *share = (struct kernel_share){.own = entries[0].own, .launches = count, .streams = 1};
    for (size_t i = 0; i < count; i++) {
        const struct trace_record *record = entries[i].record;
        share->time_us += trace_record_us(record);
        share->streams += i > 0 && record->stream != entries[i - 1].record->stream;
        if (trace_record_us(record) > trace_record_us(one.longest))
            one.longest = record;
    }
    rank_kernels(ranking, &one);
    all->kernels++;
    all->launches += count;
    all->time_us += share->time_us;
    if (share->own) {
        all->own_kernels++;
        all->own_launches += count;
        all->own_time_us += share->time_us;
    }
}

static void describe_kernel(const struct trace_stream *stream, const struct trace_pass *pass,
                            const struct ranked *one, struct arena *arena,
                            struct kernel_share *share)
{
    const struct trace_record *record = one->longest;
    struct gpu_occupancy occupancy = {.fraction = NAN, .limit = ""};
    uint64_t threads = (uint64_t)record->block[0] * record->block[1];
    *share = one->share;
    share->name = name_of(stream, record, arena);
    share->copy = record->kind != TRACE_KERNEL;
    share->source = "";
    share->shared_bytes = (uint64_t)record->static_bytes + record->dynamic_bytes;
    if (!share->copy && stream->sources) {
        threads = threads <= UINT16_MAX ? threads * record->block[2] : UINT32_MAX;
        share->source = keep_text(arena, stream->text + stream->sources[record->source].object);
        share->registers = record->registers;
        share->local_bytes = record->local_bytes;
        memcpy(share->grid, record->grid, sizeof share->grid);
        memcpy(share->block, record->block, sizeof share->block);
        if (pass->gpu)
            gpu_occupancy(&pass->gpu->each, threads < UINT32_MAX ? (uint32_t)threads : UINT32_MAX,
                          record->registers, share->shared_bytes, &occupancy);
    }
    share->occupancy = occupancy.fraction;
    share->limit = occupancy.limit;
}

/* Time while something ran, of all devices. */
static double busy_us(struct entry *entries, size_t count)
{
    uint64_t busy_ns = 0;
    uint64_t until_ns = 0;
    qsort(entries, count, sizeof *entries, by_start);
    for (size_t i = 0; i < count; i++) {
        const struct trace_record *record = entries[i].record;
        if (i == 0 || record->device != entries[i - 1].record->device)
            until_ns = 0;
        uint64_t from_ns = record->start_ns > until_ns ? record->start_ns : until_ns;
        if (record->end_ns > from_ns) {
            busy_ns += record->end_ns - from_ns;
            until_ns = record->end_ns;
        }
    }
    return (double)busy_ns * 1e-3;
}

static uint32_t count_streams(struct entry *entries, size_t count)
{
    uint32_t streams = count > 0;
    qsort(entries, count, sizeof *entries, by_stream);
    for (size_t i = 1; i < count; i++)
        streams += by_stream(&entries[i - 1], &entries[i]) != 0;
    return streams;
}

static void sum_up(const struct trace_stream *stream, struct launch_totals *all,
                   struct ranking *ranking)
{
    size_t count = stream->records ? stream->header.records : 0;
    struct entry *entries = mem_alloc((count + 1) * sizeof *entries);
    for (size_t i = 0; i < count; i++) {
        const struct trace_record *record = &stream->records[i];
        entries[i].record = record;
        entries[i].own = record->kind == TRACE_KERNEL &&
                         stream->sources[record->source].origin == TRACE_OWN;
    }
    all->busy_us = busy_us(entries, count);
    all->streams = count_streams(entries, count);
    qsort(entries, count, sizeof *entries, by_kernel);
    size_t end;
    for (size_t start = 0; start < count; start = end) {
        for (end = start + 1; end < count && same_kernel(&entries[start], &entries[end]);)
            end++;
        add_kernel(entries + start, end - start, all, ranking);
    }
    mem_free(entries);
}

static void fill_in(const struct trace_stream *stream, const struct trace_pass *pass,
                    struct verdict *verdict)
{
    struct launch_totals *all = &verdict->launched;
    struct ranking ranking = {.count = 0};
    *all = (struct launch_totals){
        .calls = pass->calls > 0 ? pass->calls : 1,
        .call_us = pass->timed_ms * 1e3,
        .call_bytes = pass->bytes,
        .peak_bytes_per_s = pass->gpu ? pass->gpu->memory_bytes_per_s : 0,
        .multiprocessors = pass->gpu ? pass->gpu->multiprocessors : 0,
    };
    sum_up(stream, all, &ranking);
    for (uint32_t i = 0; i < ranking.count; i++)
        describe_kernel(stream, pass, &ranking.items[i], &verdict->arena, &verdict->kernels[i]);
    verdict->kernel_count = ranking.count;
    verdict->own_time_fraction = all->time_us > 0 ? all->own_time_us / all->time_us : NAN;
    verdict->own_launch_fraction = all->launches > 0
                                       ? (double)all->own_launches / (double)all->launches
                                       : NAN;
}

int trace_parse(const char *bytes, size_t count, const struct trace_pass *pass,
                struct verdict *verdict, struct err *err)
{
    struct trace_stream stream = {.sources = NULL};
    int result = trace_stream_open(bytes, count, &stream, err);
    if (result != 0)
        return result;
    fill_in(&stream, pass, verdict);
    coverage_weigh(&stream, pass, verdict);
    return 0;
}

int trace_read(int fd, const struct trace_pass *pass, struct verdict *verdict, struct err *err)
{
    char *bytes;
    size_t count;
    int result = trace_stream_load(fd, &bytes, &count, err);
    if (result == 0) {
        result = trace_parse(bytes, count, pass, verdict, err);
        mem_free(bytes);
    }
    return result;
}

int trace_sum(int fd, uint32_t calls, struct launch_totals *all, struct err *err)
{
    char *bytes;
    size_t count;
    struct trace_stream stream = {.sources = NULL};
    struct ranking ranking = {.count = 0};
    int result = trace_stream_load(fd, &bytes, &count, err);
    if (result != 0)
        return result;
    result = trace_stream_open(bytes, count, &stream, err);
    if (result == 0 && stream.header.lost > 0)
        result = err_set(err, ERR_PROTOCOL, "not all launches are in the trace");
    *all = (struct launch_totals){.calls = calls};
    if (result == 0)
        sum_up(&stream, all, &ranking);
    mem_free(bytes);
    return result;
}
