#include "gpu_checks.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "device/gpu_memory.h"
#include "judge/numeric/compare.h"
#include "problem/fill.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PAIRS_MAX 70 /* more than one launch takes */
#define ARRAYS 3

struct bench {
    const struct gpu_checks *checks;
    const struct gpu_work *work;
    struct gpu_memory expected, got, finding;
    char *host, *other;
    char *text; /* what is wrong */
};

static bool fails(struct bench *bench, int result, const struct err *err)
{
    if (result < 0)
        snprintf(bench->text, GPU_CHECKS_TEXT, "%.500s", err->text);
    return result < 0;
}

static uint64_t largest(const struct gpu_checks *checks)
{
    uint64_t most = 0;
    for (size_t i = 0; i < checks->count_count; i++)
        most = checks->counts[i] > most ? checks->counts[i] : most;
    return most;
}

static int open_bench(struct bench *bench, const struct gpu_checks *checks, char *text)
{
    const struct gpu_context *gpu = checks->work->gpu;
    uint64_t bytes = (8 * largest(checks) + 8) * ARRAYS;
    struct err err;
    *bench = (struct bench){.checks = checks, .work = checks->work, .text = text};
    bench->host = mem_alloc(bytes);
    bench->other = mem_alloc(bytes);
    int result = gpu_memory_make(&bench->expected, gpu, bytes, &err);
    if (result == 0)
        result = gpu_memory_make(&bench->got, gpu, bytes, &err);
    if (result == 0)
        result = gpu_memory_make(&bench->finding, gpu, PAIRS_MAX * sizeof(struct gpu_finding),
                                 &err);
    return fails(bench, result, &err) ? -1 : 0;
}

static void close_bench(struct bench *bench)
{
    gpu_memory_free(&bench->expected);
    gpu_memory_free(&bench->got);
    gpu_memory_free(&bench->finding);
    mem_free(bench->host);
    mem_free(bench->other);
}

/* --- fills ------------------------------------------------------------------------------------ */

static bool fits(const struct layout_argument *argument)
{
    const struct dtype_facts *facts = dtype_facts(argument->dtype);
    bool is_unsigned = argument->dtype == DTYPE_U8 || argument->dtype == DTYPE_U32 ||
                       argument->dtype == DTYPE_U64 || argument->dtype == DTYPE_BOOL;
    bool wide = argument->dtype == DTYPE_BOOL ? argument->b > 2 : argument->a < 0;
    return facts->floating || (argument->fill == FILL_INTEGER && !(is_unsigned && wide));
}

/* 1: the host's bytes; 0: not a fill of the kernel's; -1. */
static int fill_both(struct bench *bench, const struct layout_argument *argument)
{
    struct fill_plan plan;
    struct err err;
    uint64_t seed = clock_secret();
    uint64_t bytes = layout_argument_bytes(argument);
    uint64_t stride = (bytes + 15) / 8 * 8;
    uint64_t keys[ARRAYS];
    bool same = true;
    if (!fits(argument) || !fill_plan_of(&plan, argument, 2, seed))
        return 0;
    for (uint64_t i = 0; i < ARRAYS; i++) {
        fill_argument(argument, 2, seed + i, bench->host + i * stride);
        (void)!fill_plan_of(&plan, argument, 2, seed + i);
        keys[i] = plan.key;
    }
    int result = gpu_work_fill(bench->work, &plan, keys, ARRAYS, argument->count,
                               bench->got.address, stride, &err);
    if (result == 0)
        result = gpu_work_wait(bench->work, &err);
    if (result == 0)
        result = gpu_memory_read(&bench->got, 0, bench->other, ARRAYS * stride, &err);
    if (fails(bench, result, &err))
        return -1;
    for (uint64_t i = 0; i < ARRAYS; i++)
        same &= memcmp(bench->host + i * stride, bench->other + i * stride, bytes) == 0;
    if (same)
        return 1;
    snprintf(bench->text, GPU_CHECKS_TEXT, "fill %u of %s, %llu elements: not the host's bytes",
             argument->fill, dtype_facts(argument->dtype)->name,
             (unsigned long long)argument->count);
    return -1;
}

static int check_fills(const struct gpu_checks *checks, char text[GPU_CHECKS_TEXT])
{
    static const struct {
        uint32_t fill;
        double a, b;
    } kinds[] = {{FILL_NORMAL, 0, 1},      {FILL_NORMAL, 3, 0.25}, {FILL_UNIFORM, 0, 1},
                 {FILL_UNIFORM, -2.5, 10}, {FILL_INTEGER, 0, 2},   {FILL_INTEGER, -100, 100},
                 {FILL_INTEGER, 0, 127}};
    struct bench bench;
    int compared = open_bench(&bench, checks, text);
    size_t kind_count = COUNT(kinds);
    for (size_t i = 0; compared >= 0 && i < DTYPE_COUNT * kind_count * checks->count_count; i++) {
        size_t kind = i / checks->count_count % kind_count;
        struct layout_argument argument = {.role = ROLE_IN,
                                           .dtype = (uint32_t)(i / checks->count_count /
                                                               kind_count),
                                           .count = checks->counts[i % checks->count_count],
                                           .fill = kinds[kind].fill,
                                           .a = kinds[kind].a,
                                           .b = kinds[kind].b};
        int same = fill_both(&bench, &argument);
        compared = same < 0 ? -1 : compared + same;
    }
    close_bench(&bench);
    return compared;
}

/* --- comparisons ------------------------------------------------------------------------------ */

static void spoil(uint32_t dtype, char *data, uint64_t count)
{
    for (int i = 0; i < 20; i++) {
        uint64_t at = clock_secret() % count;
        double value = dtype_load(dtype, data, at);
        static const double values[] = {NAN, INFINITY, -INFINITY, 0};
        dtype_store(dtype, data, at,
                    i % 5 == 4 || !dtype_facts(dtype)->floating ? value + 1 : values[i % 5]);
    }
}

/* An oracle in place of the expected values. */
static void widen(const struct bench *bench, struct comparison *spec)
{
    double *wide = mem_alloc(spec->count * sizeof *wide);
    for (uint64_t i = 0; i < spec->count; i++)
        wide[i] = dtype_load(spec->dtype, bench->host, i);
    memcpy(bench->host, wide, spec->count * sizeof *wide);
    spec->expected_dtype = DTYPE_F64;
    mem_free(wide);
}

static bool near(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-9 * fabs(b);
}

static bool same_difference(const struct difference *a, const struct difference *b)
{
    return a->mismatches == b->mismatches && a->first_index == b->first_index &&
           a->nan_mismatch == b->nan_mismatch && near(a->max_absolute, b->max_absolute) &&
           near(a->max_relative, b->max_relative) && near(a->scale, b->scale);
}

static int compare_there(struct bench *bench, const struct comparison *spec,
                         struct difference *difference)
{
    struct err err;
    struct gpu_finding finding;
    int result = gpu_memory_write(&bench->expected, 0, bench->host,
                                  spec->count * dtype_facts(spec->expected_dtype)->bytes, &err);
    if (result == 0)
        result = gpu_memory_write(&bench->got, 0, bench->other,
                                  spec->count * dtype_facts(spec->dtype)->bytes, &err);
    if (result == 0)
        result = gpu_memory_fill(&bench->finding, 0, 0, sizeof finding, &err);
    if (result == 0)
        result = gpu_work_compare(bench->work, spec, bench->expected.address, bench->got.address,
                                  bench->finding.address, &err);
    if (result == 0)
        result = gpu_work_wait(bench->work, &err);
    if (result == 0)
        result = gpu_memory_read(&bench->finding, 0, &finding, sizeof finding, &err);
    if (fails(bench, result, &err))
        return -1;
    gpu_work_difference(spec, &finding, difference);
    return 0;
}

/* Whether the quick comparison of several pairs, of which each is this one, finds as many. */
static bool agree_there(struct bench *bench, const struct comparison *spec, uint64_t mismatches)
{
    static const uint32_t counts[] = {1, 3, PAIRS_MAX};
    struct gpu_finding findings[PAIRS_MAX] = {0};
    struct gpu_pair pairs[PAIRS_MAX];
    struct err err;
    uint32_t count = counts[spec->count < 300 ? clock_secret() % 3 : 0];
    for (uint32_t i = 0; i < count; i++)
        pairs[i] = (struct gpu_pair){bench->expected.address, bench->got.address};
    int result = gpu_memory_fill(&bench->finding, 0, 0, sizeof findings, &err);
    if (result == 0)
        result = gpu_work_agree(bench->work, spec, pairs, count, bench->finding.address, &err);
    if (result == 0)
        result = gpu_work_wait(bench->work, &err);
    if (result == 0)
        result = gpu_memory_read(&bench->finding, 0, findings, sizeof findings, &err);
    if (fails(bench, result, &err))
        return false;
    for (uint32_t i = 0; i < PAIRS_MAX; i++)
        if (findings[i].mismatches != (i < count ? mismatches : 0)) {
            snprintf(bench->text, GPU_CHECKS_TEXT,
                     "%llu of %s: pair %u of %u has %llu mismatches, not %llu",
                     (unsigned long long)spec->count, dtype_facts(spec->dtype)->name, i, count,
                     (unsigned long long)findings[i].mismatches, (unsigned long long)mismatches);
            return false;
        }
    return true;
}

/* 1: all find the same. */
static int compare_both(struct bench *bench, const struct comparison *spec)
{
    struct difference host;
    struct difference gpu;
    compare_tensor_plainly(spec, bench->host, bench->other, &host);
    if (compare_there(bench, spec, &gpu) < 0)
        return -1;
    if (same_difference(&gpu, &host))
        return agree_there(bench, spec, host.mismatches) ? 1 : -1;
    snprintf(bench->text, GPU_CHECKS_TEXT,
             "%llu of %s against %s: %llu mismatches from [%llu], errors %g and %g, scale %g; the "
             "host finds %llu from [%llu], %g and %g, %g",
             (unsigned long long)spec->count, dtype_facts(spec->dtype)->name,
             dtype_facts(spec->expected_dtype)->name, (unsigned long long)gpu.mismatches,
             (unsigned long long)gpu.first_index, gpu.max_absolute, gpu.max_relative, gpu.scale,
             (unsigned long long)host.mismatches, (unsigned long long)host.first_index,
             host.max_absolute, host.max_relative, host.scale);
    return -1;
}

static const struct tolerance tolerances[] = {{.exact = true},
                                              {.relative = 1e-3, .scale = SCALE_RMS},
                                              {.relative = 1e-2},
                                              {.relative = 1e-3, .absolute = 0.01}};

/* Right, a little off in every seventh element, and spoilt on either side. */
enum { RIGHT, OFF = 2, SPOILT = 4, BOTH_SPOILT = 5, ROUNDS = 6 };

static int compare_round(struct bench *bench, uint32_t dtype, struct tolerance tolerance, int round)
{
    uint64_t count = bench->checks->counts[(size_t)round % bench->checks->count_count];
    bool whole = !dtype_facts(dtype)->floating;
    struct layout_argument argument = {.role = ROLE_IN,
                                       .dtype = dtype,
                                       .count = count,
                                       .fill = whole ? FILL_INTEGER : FILL_NORMAL,
                                       .a = 0,
                                       .b = dtype == DTYPE_BOOL ? 2
                                            : whole             ? 100
                                                                : 1};
    if (whole && !tolerance.exact)
        return 0;
    fill_argument(&argument, 0, clock_secret(), bench->host);
    memcpy(bench->other, bench->host, layout_argument_bytes(&argument));
    for (uint64_t i = 0; round >= OFF && !whole && i < count; i += 7)
        dtype_store(dtype, bench->other, i, dtype_load(dtype, bench->other, i) * 1.005);
    if (round >= SPOILT)
        spoil(dtype, round == BOTH_SPOILT ? bench->host : bench->other, count);
    struct comparison spec = {.dtype = dtype,
                              .expected_dtype = dtype,
                              .count = count,
                              .tolerance = tolerance,
                              .noise = clock_secret() & 1 ? 4e-3 : 0};
    if (!whole && !tolerance.exact && clock_secret() & 1)
        widen(bench, &spec);
    return compare_both(bench, &spec);
}

static int check_comparisons(const struct gpu_checks *checks, char text[GPU_CHECKS_TEXT])
{
    struct bench bench;
    int compared = open_bench(&bench, checks, text);
    size_t kinds = COUNT(tolerances);
    for (size_t i = 0; compared >= 0 && i < DTYPE_COUNT * kinds * ROUNDS; i++) {
        int same = compare_round(&bench, (uint32_t)(i / ROUNDS / kinds),
                                 tolerances[i / ROUNDS % kinds], (int)(i % ROUNDS));
        compared = same < 0 ? -1 : compared + same;
    }
    close_bench(&bench);
    return compared;
}

/* Every value that is a case of its own, against every other; `largest`: none is larger. */
static void draw_extremes(uint32_t dtype, double most, char *data, uint64_t count)
{
    static const double values[] = {0,        -0.0,     1,         -1,       1 + DBL_EPSILON,
                                    1.0009,   6e-8,     -6e-5,     65504,    -65504,
                                    65520,    3.39e38,  -3.4e38,   1e-45,    1e-40,
                                    NAN,      INFINITY, -INFINITY, 1e-320,   1e-300,
                                    -1e200,   1e154,    DBL_MAX,   -DBL_MAX, 1e-160,
                                    1.5e-162, 1 - 1e-4, 0.99999,   1e100,    -1e-100};
    for (uint64_t i = 0; i < count; i++) {
        double value;
        do
            value = values[clock_secret() % COUNT(values)];
        while (fabs(value) > most && isfinite(value));
        dtype_store(dtype, data, i, value);
    }
}

static int check_extremes(const struct gpu_checks *checks, char text[GPU_CHECKS_TEXT])
{
    static const double most[] = {0, 1e-300, 1e-150, 1e-30, 1, 1e30, 1e160, DBL_MAX};
    struct bench bench;
    int compared = open_bench(&bench, checks, text);
    size_t kinds = COUNT(tolerances);
    size_t steps = COUNT(most);
    for (size_t i = 0; compared >= 0 && i < 8 * kinds * steps; i++) {
        uint32_t dtype = (uint32_t)(i % 4); /* the floating ones */
        struct comparison spec = {.dtype = dtype,
                                  .expected_dtype = i / 4 % 2 ? dtype : DTYPE_F64,
                                  .count = 1 + clock_secret() % 300,
                                  .tolerance = tolerances[i / 8 % kinds],
                                  .noise = clock_secret() & 1 ? 1e-150 : 0};
        draw_extremes(spec.expected_dtype, most[i / 8 / kinds], bench.host, spec.count);
        draw_extremes(dtype, most[i / 8 / kinds], bench.other, spec.count);
        int same = compare_both(&bench, &spec);
        compared = same < 0 ? -1 : compared + same;
    }
    close_bench(&bench);
    return compared;
}

/* --- samples and guards ----------------------------------------------------------------------- */

static int check_gather(const struct gpu_checks *checks, char text[GPU_CHECKS_TEXT])
{
    struct bench bench;
    struct err err;
    struct gpu_addresses places;
    void *pinned = NULL;
    const struct cuda *cuda = &checks->work->gpu->cuda;
    int compared = open_bench(&bench, checks, text);
    uint64_t bytes = 8 * largest(checks);
    if (compared == 0 && cuda->host_alloc(&pinned, GPU_ADDRESSES * GPU_ADDRESS_BYTES, 0) != 0)
        compared = -1;
    for (uint64_t i = 0; compared >= 0 && i < bytes; i++)
        bench.host[i] = (char)(i * 2654435761U >> 13);
    if (compared == 0 &&
        fails(&bench, gpu_memory_write(&bench.got, 0, bench.host, bytes, &err), &err))
        compared = -1;
    for (int round = 0; compared >= 0 && round < 20; round++) {
        uint64_t from[GPU_ADDRESSES];
        memset(pinned, 0x5A, GPU_ADDRESSES * GPU_ADDRESS_BYTES);
        for (int i = 0; i < GPU_ADDRESSES; i++) {
            places.bytes[i] = round == 0 ? 0 : (uint32_t)(clock_secret() % (GPU_ADDRESS_BYTES + 1));
            from[i] = clock_secret() % (bytes - GPU_ADDRESS_BYTES);
            places.at[i] = places.bytes[i] ? bench.got.address + from[i] : 0;
        }
        if (fails(&bench, gpu_work_gather(checks->work, &places, pinned, &err), &err))
            compared = -1;
        for (int i = 0; compared >= 0 && i < GPU_ADDRESSES; i++)
            for (uint32_t k = 0; k < GPU_ADDRESS_BYTES; k++) {
                char is = ((const char *)pinned)[i * GPU_ADDRESS_BYTES + (int)k];
                if (is != (k < places.bytes[i] ? bench.host[from[i] + k] : 0x5A)) {
                    snprintf(text, GPU_CHECKS_TEXT, "byte %u of place %d is wrong", k, i);
                    compared = -1;
                    break;
                }
            }
        compared += compared >= 0;
    }
    if (pinned)
        cuda->host_free(pinned);
    close_bench(&bench);
    return compared;
}

/* At two places, of which the second has half as many wrong bytes. */
static int check_guard(const struct gpu_checks *checks, char text[GPU_CHECKS_TEXT])
{
    enum { STRIDE = 300 };
    struct bench bench;
    struct err err;
    struct gpu_finding findings[2] = {0};
    int compared = open_bench(&bench, checks, text);
    for (uint32_t wrong = 0; compared >= 0 && wrong <= 256; wrong += 32) {
        uint32_t count = 256 - wrong / 2;
        memset(bench.host, 0xA5, 2 * STRIDE);
        memset(bench.host, 0xA4, wrong);
        memset(bench.host + STRIDE, 0xA4, wrong / 2);
        int result = gpu_memory_write(&bench.got, 0, bench.host, 2 * STRIDE, &err);
        if (result == 0)
            result = gpu_memory_fill(&bench.finding, 0, 0, sizeof findings, &err);
        for (int twice = 0; result == 0 && twice < 2; twice++) /* it adds */
            result = gpu_work_guard(checks->work, bench.got.address, STRIDE, 2, count, 0xA5,
                                    bench.finding.address, &err);
        if (result == 0)
            result = gpu_work_wait(checks->work, &err);
        if (result == 0)
            result = gpu_memory_read(&bench.finding, 0, findings, sizeof findings, &err);
        compared = fails(&bench, result, &err) ? -1 : compared + 1;
        for (uint32_t i = 0; compared >= 0 && i < 2; i++) {
            uint64_t there = i ? wrong / 2 : wrong;
            uint64_t seen = there < count ? there : count;
            if (findings[i].mismatches == 2 * seen)
                continue;
            snprintf(text, GPU_CHECKS_TEXT, "%llu wrong bytes at place %u instead of twice %llu",
                     (unsigned long long)findings[i].mismatches, i, (unsigned long long)seen);
            compared = -1;
        }
    }
    close_bench(&bench);
    return compared;
}

const struct gpu_check gpu_checks[] = {
    {"fills give the host's bytes", check_fills},
    {"comparisons agree with the host's", check_comparisons},
    {"comparisons of extreme values do", check_extremes},
    {"times samples were gathered", check_gather},
    {"guards were counted", check_guard},
    {"operations on tensors give the host's", check_tensors},
};
const size_t gpu_check_count = COUNT(gpu_checks);
