#include "../support/fake_cuda.h"
#include "device/gpu_peaks.h"

#include "../support/test.h"
#include "base/file.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static char *directory;
static struct gpu_context gpu;

FIXTURE(setup)
{
    fake_cuda_clean(state);
    directory = support_directory();
    return gpu_context_open(&gpu, fake_cuda, 1, NULL);
}

FIXTURE(teardown)
{
    gpu_context_close(&gpu);
    return fake_cuda_clean(state);
}

static void must_get(struct gpu_peaks *peaks, const char *place)
{
    struct err err;
    assert_ok(gpu_peaks_get(peaks, &gpu, "image", place, &err), &err);
}

static void near(double got, double wanted)
{
    if (!(fabs(got - wanted) < 0.02 * wanted))
        fail_msg("%g instead of %g", got, wanted);
}

static void write_records(const char *text)
{
    DIR *entries = opendir(directory);
    int written = 0;
    for (struct dirent *entry; (entry = readdir(entries));)
        if (strstr(entry->d_name, ".json")) {
            char *path = support_text("%s/%s", directory, entry->d_name);
            assert_int_equal(file_write_atomic(path, text, strlen(text), 0600, NULL), 0);
            written++;
        }
    closedir(entries);
    assert_int_equal(written, 1);
}

TEST_GROUP(fake_cuda_find, NULL);
TEST_EACH(setup, teardown);

/* The stand-in moves 4500 bytes a nanosecond, and 9000 in L2: a quiet GPU. */
TEST(measured_once_and_recorded)
{
    struct gpu_peaks peaks, again;
    setenv("FAKE_CUDA_KERNELS", "4500", 1);
    assert_false(gpu_peaks_recall(&peaks, &gpu, directory));
    must_get(&peaks, directory);
    assert_true(peaks.settled && peaks.runs == 1);
    near(peaks.measured[GPU_DRAM_READ], 4.42e12); /* a round costs a microsecond more */
    near(peaks.measured[GPU_DRAM_COPY], 2 * 4.42e12);
    assert_true(peaks.measured[GPU_L2_READ] > 1.2 * peaks.measured[GPU_DRAM_READ]);
    for (int i = 0; i < GPU_PEAK_COUNT; i++)
        assert_true(peaks.measured[i] > 0);
    setenv("FAKE_CUDA_KERNELS", "1", 1);
    must_get(&again, directory);
    for (int i = 0; i < GPU_PEAK_COUNT; i++)
        near(again.measured[i], peaks.measured[i]);
    assert_true(again.settled && again.runs == 1);
    assert_true(gpu_peaks_recall(&again, &gpu, directory));
}

TEST(a_busy_gpu_is_measured_again)
{
    struct gpu_peaks peaks;
    setenv("FAKE_CUDA_KERNELS", "1000", 1);
    must_get(&peaks, directory);
    assert_false(peaks.settled);
    near(peaks.dram_bytes_per_s, 4.917e12); /* by bus and clock, whatever was measured */
    setenv("FAKE_CUDA_KERNELS", "500", 1);
    must_get(&peaks, directory);
    assert_int_equal(peaks.runs, 2);
    near(peaks.measured[GPU_DRAM_READ], 1e12); /* the most of both */
    for (int run = 3; run <= GPU_PEAKS_RUNS_MAX; run++)
        must_get(&peaks, directory);
    assert_true(peaks.settled);
}

TEST(spoilt_records)
{
    static const char *const spoilt[] = {
        "",
        "{\"version\":1}",
        "{\"version\":1,\"runs\":1,\"settled\":true,\"measured\":{}}",
        "{\"version\":99,\"runs\":1,\"settled\":true,\"measured\":{}}",
    };
    struct gpu_peaks peaks;
    setenv("FAKE_CUDA_KERNELS", "4500", 1);
    must_get(&peaks, directory);
    for (size_t i = 0; i < COUNT(spoilt); i++) {
        write_records(spoilt[i]);
        assert_false(gpu_peaks_recall(&peaks, &gpu, directory));
        assert_true(peaks.measured[GPU_DRAM_READ] == 0 && peaks.dram_bytes_per_s > 4e12);
        must_get(&peaks, directory);
        assert_int_equal(peaks.runs, 1);
    }
}

/* What cannot be measured leaves the bounds of the architecture. */
TEST(refusals)
{
    static const char *const functions[] = {"cuModuleLoadData", "cuModuleGetFunction",
                                            "cuEventCreate",    "cuMemCreate",
                                            "cuLaunchKernel",   "cuCtxSynchronize"};
    setenv("FAKE_CUDA_KERNELS", "4500", 1);
    for (size_t i = 0; i < COUNT(functions); i++) {
        struct gpu_peaks peaks;
        setenv("FAKE_CUDA_FAIL", functions[i], 1);
        assert_int_equal(gpu_peaks_get(&peaks, &gpu, "image", directory, NULL), ERR_IO);
        assert_int_equal(peaks.runs, 0);
        near(peaks.dram_bytes_per_s, 4.917e12);
        near(peaks.l2_bytes_per_s, 4 * 4.917e12);
    }
}

TEST(bounds_by_architecture)
{
    static const struct {
        int major, minor, multiprocessors;
        double clock_mhz, wide_tflops, narrow_tflops;
    } rows[] = {
        {9, 0, 132, 1980, 535, 2141},   /* H200: TF32 495, FP8 1979 by its data sheet */
        {8, 0, 108, 1410, 156, 624},    /* A100: TF32 156, INT8 624 */
        {8, 9, 128, 2520, 165, 661},    /* RTX 4090: FP8 661 */
        {10, 0, 148, 1965, 1191, 4764}, /* B200 */
        {99, 0, 100, 2000, 0, 0},       /* not known: nothing is claimed */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct gpu facts = {.major = rows[i].major,
                            .minor = rows[i].minor,
                            .multiprocessors = rows[i].multiprocessors,
                            .clock_mhz = rows[i].clock_mhz};
        struct gpu_peaks peaks = {0};
        gpu_peaks_bound(&peaks, &facts);
        near(peaks.wide_flops + 1, rows[i].wide_tflops * 1e12 + 1);
        near(peaks.narrow_flops + 1, rows[i].narrow_tflops * 1e12 + 1);
    }
    struct gpu_peaks better = {.measured = {[GPU_F16] = 5e15, [GPU_DRAM_READ] = 9e12}};
    gpu_peaks_bound(&better, &gpu.facts);
    assert_true(better.narrow_flops == 1e16 && better.dram_bytes_per_s == 9e12);
}

TEST(floor)
{
    static const struct gpu_peaks round_numbers = {.dram_bytes_per_s = 4e12,
                                                   .l2_bytes_per_s = 1e13,
                                                   .l2_bytes = 5e7,
                                                   .wide_flops = 5e14,
                                                   .narrow_flops = 2e15};
    static const struct {
        double flops, bytes;
        bool narrow;
        double ms; /* before the margin */
    } rows[] = {
        {0, 0, false, 0},      {5e11, 0, false, 1},
        {5e11, 0, true, 0.25}, {0, 1e7, false, 1e-3}, /* all of it may come from L2 */
        {0, 1e8, false, 1e-2},                        /* half in it before, half in it afterwards */
        {0, 5e8, false, 0.1},                         /* 4e8 through the memory, 5e8 through L2 */
        {0, 4.1e9, false, 1},  {5e11, 4.1e8, false, 1},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        double got = gpu_peaks_floor_ms(&round_numbers, rows[i].flops, rows[i].bytes,
                                        rows[i].narrow);
        if (fabs(got * GPU_PEAKS_MARGIN - rows[i].ms) > 1e-9)
            fail_msg("row %zu: %.9g instead of %.9g", i, got * GPU_PEAKS_MARGIN, rows[i].ms);
    }
    assert_true(gpu_peaks_floor_ms(&(struct gpu_peaks){0}, 1e15, 1e15, false) == 0);
}
