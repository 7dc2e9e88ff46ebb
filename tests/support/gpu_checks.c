/* work: the judge's kernels against the plain functions that they stand for, on a real GPU.
 *
 *   work CUBIN      prints what it compared; exit status 1 at the first difference
 *
 * No cmocka: it runs on machines that have nothing of ours. Started by test_gpu.py.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "device/gpu_memory.h"
#include "judge/compare.h"
#include "judge/gpu_work.h"
#include "problem/fill.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST 1000003

struct bench {
    struct gpu_context gpu;
    struct gpu_work work;
    struct gpu_memory expected, got, finding;
    char *host, *other;
};

static void must(int result, const struct err *err)
{
    if (result < 0) {
        printf("%s\n", err->text);
        exit(1);
    }
}

static const uint64_t counts[] = {1, 31, 1000, 65537, LARGEST};

/* Every plain fill of every type gives the bytes of fill.c. */
static void fills(struct bench *bench)
{
    static const struct {
        uint32_t fill;
        double a, b;
    } kinds[] = {{FILL_NORMAL, 0, 1},      {FILL_NORMAL, 3, 0.25}, {FILL_UNIFORM, 0, 1},
                 {FILL_UNIFORM, -2.5, 10}, {FILL_INTEGER, 0, 2},   {FILL_INTEGER, -100, 100},
                 {FILL_INTEGER, 0, 127}};
    struct err err;
    int compared = 0;
    for (uint32_t dtype = 0; dtype < DTYPE_COUNT; dtype++)
        for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
            for (size_t at = 0; at < sizeof counts / sizeof *counts; at++) {
                struct layout_argument argument = {.role = ROLE_IN,
                                                   .dtype = dtype,
                                                   .count = counts[at],
                                                   .fill = kinds[kind].fill,
                                                   .a = kinds[kind].a,
                                                   .b = kinds[kind].b};
                bool floating = dtype_facts(dtype)->floating;
                bool small = dtype == DTYPE_BOOL ? argument.b > 2 : argument.a < 0;
                bool is_unsigned = dtype == DTYPE_U8 || dtype == DTYPE_U32 || dtype == DTYPE_U64 ||
                                   dtype == DTYPE_BOOL;
                struct fill_plan plan;
                uint64_t seed = clock_secret();
                if ((!floating && argument.fill != FILL_INTEGER) || (is_unsigned && small) ||
                    !fill_plan_of(&plan, &argument, 2, seed))
                    continue;
                uint64_t bytes = layout_argument_bytes(&argument);
                fill_argument(&argument, 2, seed, bench->host);
                must(gpu_work_fill(&bench->work, &plan, argument.count, bench->got.address, &err),
                     &err);
                must(gpu_work_wait(&bench->work, &err), &err);
                must(gpu_memory_read(&bench->got, 0, bench->other, bytes, &err), &err);
                if (memcmp(bench->host, bench->other, bytes) != 0) {
                    printf("fill %u of %s, %llu elements: other bytes than the host's\n",
                           argument.fill, dtype_facts(dtype)->name,
                           (unsigned long long)argument.count);
                    exit(1);
                }
                compared++;
            }
    printf("%d fills give the host's bytes\n", compared);
}

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

static bool compare_both(struct bench *bench, const struct comparison *spec)
{
    struct err err;
    struct difference host;
    struct difference gpu;
    struct gpu_finding finding;
    compare_tensor_plainly(spec, bench->host, bench->other, &host);
    must(gpu_memory_write(&bench->expected, 0, bench->host,
                          spec->count * dtype_facts(spec->expected_dtype)->bytes, &err),
         &err);
    must(gpu_memory_write(&bench->got, 0, bench->other,
                          spec->count * dtype_facts(spec->dtype)->bytes, &err),
         &err);
    must(gpu_memory_fill(&bench->finding, 0, 0, sizeof finding, &err), &err);
    must(gpu_work_compare(&bench->work, spec, bench->expected.address, bench->got.address,
                          bench->finding.address, &err),
         &err);
    must(gpu_work_wait(&bench->work, &err), &err);
    must(gpu_memory_read(&bench->finding, 0, &finding, sizeof finding, &err), &err);
    gpu_work_difference(spec, &finding, &gpu);
    if (gpu.mismatches != host.mismatches || gpu.first_index != host.first_index ||
        gpu.nan_mismatch != host.nan_mismatch || !near(gpu.max_absolute, host.max_absolute) ||
        !near(gpu.max_relative, host.max_relative) || !near(gpu.scale, host.scale)) {
        printf("%s against %s: %llu mismatches from [%llu], errors %g and %g, scale %g; the host "
               "finds %llu from [%llu], %g and %g, %g\n",
               dtype_facts(spec->dtype)->name, dtype_facts(spec->expected_dtype)->name,
               (unsigned long long)gpu.mismatches, (unsigned long long)gpu.first_index,
               gpu.max_absolute, gpu.max_relative, gpu.scale, (unsigned long long)host.mismatches,
               (unsigned long long)host.first_index, host.max_absolute, host.max_relative,
               host.scale);
        exit(1);
    }
    return host.mismatches > 0;
}

/* Each output, right, a little off and spoilt, is judged as compare.c judges it. */
static void comparisons(struct bench *bench)
{
    static const struct tolerance tolerances[] = {{.exact = true},
                                                  {.relative = 1e-3, .scale = SCALE_RMS},
                                                  {.relative = 1e-2},
                                                  {.relative = 1e-3, .absolute = 0.01}};
    static const uint32_t dtypes[] = {DTYPE_F16, DTYPE_BF16, DTYPE_F32, DTYPE_F64, DTYPE_I32};
    struct err err;
    int compared = 0;
    uint64_t found_wrong = 0;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t t = 0; t < sizeof tolerances / sizeof *tolerances; t++)
            for (int round = 0; round < 6; round++) {
                uint32_t dtype = dtypes[d];
                uint64_t count = counts[round % 5];
                bool whole = !dtype_facts(dtype)->floating;
                struct tolerance tolerance = tolerances[t];
                if (whole && !tolerance.exact)
                    continue;
                struct layout_argument argument = {.role = ROLE_IN,
                                                   .dtype = dtype,
                                                   .count = count,
                                                   .fill = whole ? FILL_INTEGER : FILL_NORMAL,
                                                   .a = 0,
                                                   .b = whole ? 1000 : 1};
                uint64_t bytes = layout_argument_bytes(&argument);
                fill_argument(&argument, 0, clock_secret(), bench->host);
                memcpy(bench->other, bench->host, bytes);
                if (round >= 2 && !whole)
                    for (uint64_t i = 0; i < count; i += 7)
                        dtype_store(dtype, bench->other, i,
                                    dtype_load(dtype, bench->other, i) * 1.005);
                if (round >= 4)
                    spoil(dtype, round == 5 ? bench->host : bench->other, count);
                struct comparison spec = {.dtype = dtype,
                                          .expected_dtype = dtype,
                                          .count = count,
                                          .tolerance = tolerance};
                if (!whole && !tolerance.exact && clock_secret() & 1)
                    widen(bench, &spec);
                found_wrong += compare_both(bench, &spec);
                compared++;
            }
    printf("%d comparisons agree with the host's, %llu of them found something\n", compared,
           (unsigned long long)found_wrong);
}

int main(int argc, char **argv)
{
    struct bench bench;
    struct err err;
    char *image;
    size_t bytes;
    if (argc != 2)
        return 2;
    must(file_read(argv[1], (size_t)16 << 20, &image, &bytes, &err), &err);
    must(gpu_context_open(&bench.gpu, NULL, 0, &err), &err);
    must(gpu_work_open(&bench.work, &bench.gpu, image, &err), &err);
    must(gpu_memory_make(&bench.expected, &bench.gpu, 8 * LARGEST, &err), &err);
    must(gpu_memory_make(&bench.got, &bench.gpu, 8 * LARGEST, &err), &err);
    must(gpu_memory_make(&bench.finding, &bench.gpu, sizeof(struct gpu_finding), &err), &err);
    bench.host = mem_alloc((size_t)8 * LARGEST);
    bench.other = mem_alloc((size_t)8 * LARGEST);
    fills(&bench);
    comparisons(&bench);
    mem_free(bench.host);
    mem_free(bench.other);
    mem_free(image);
    return 0;
}
