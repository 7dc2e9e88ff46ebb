#include "device/peaks.h"

#include "../support/test.h"
#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static char *directory;

FIXTURE(setup)
{
    directory = support_directory();
    return 0;
}

TEST_EACH(setup, NULL);

/* Path of the one record in the directory; the caller's, NULL when there is none. */
static char *record(void)
{
    char *path = NULL;
    DIR *entries = opendir(directory);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries));)
        if (strstr(entry->d_name, ".json")) {
            assert_null(path);
            path = mem_printf("%s/%s", directory, entry->d_name);
        }
    closedir(entries);
    return path;
}

static void write_record(const char *text)
{
    char *path = record();
    assert_non_null(path);
    assert_int_equal(file_write_atomic(path, text, strlen(text), 0600, NULL), 0);
    mem_free(path);
}

static void assert_plausible(const struct peaks *peaks)
{
    assert_true(peaks->cores >= 1);
    const double flops[] = {peaks->f32_flops, peaks->f64_flops};
    for (size_t i = 0; i < 2; i++)
        if (!(flops[i] > 1e8 * peaks->cores && flops[i] < 1e12 * peaks->cores))
            fail_msg("%g operations a second, of %d cores, %d runs", flops[i], peaks->cores,
                     peaks->runs);
    assert_true(peaks->narrow_flops >= peaks->f32_flops);
    assert_true(peaks->bytes_per_s[PEAKS_DRAM] > 1e9);
    /* Other tests run beside this one: how far L1 is above it is for docs/measurements. */
    assert_true(peaks->bytes_per_s[PEAKS_L1] > 1e9);
    assert_true(isinf(peaks->capacity_bytes[PEAKS_DRAM]));
}

TEST(measured_then_recorded)
{
    struct peaks peaks, again;
    struct err err = {0};
    assert_false(peaks_recall(&again, directory)); /* and nothing is measured for it */
    assert_null(record());
    assert_ok(peaks_get(&peaks, directory, &err), &err);
    assert_plausible(&peaks);
    assert_int_equal(peaks.runs, 1);
    write_record("{\"version\":2,\"runs\":2,\"settled\":true,\"f32_flops\":64e9,\"f64_flops\":32e9,"
                 "\"narrow_flops\":256e9,\"bytes_per_s\":{\"l1\":4e11,\"l2\":2e11,\"l3\":0,"
                 "\"dram\":1e10}}");
    assert_true(peaks_recall(&again, directory) && again.f32_flops == 64e9);
    assert_int_equal(peaks_get(&again, directory, &err), 0);
    assert_true(again.f32_flops == 64e9 && again.bytes_per_s[PEAKS_DRAM] == 1e10);
    assert_true(again.settled && again.runs == 2 && again.cores == peaks.cores);
    assert_true(again.capacity_bytes[PEAKS_L2] == peaks.capacity_bytes[PEAKS_L2]);
}

TEST(a_busy_record_is_measured_again_and_maxima_are_kept)
{
    struct peaks peaks;
    assert_int_equal(peaks_get(&peaks, directory, NULL), 0);
    write_record(
        "{\"version\":2,\"runs\":4,\"settled\":false,\"f32_flops\":9e15,\"f64_flops\":1,"
        "\"narrow_flops\":9e15,\"bytes_per_s\":{\"l1\":1,\"l2\":1,\"l3\":1,\"dram\":9e15}}");
    assert_int_equal(peaks_get(&peaks, directory, NULL), 0);
    assert_true(peaks.f32_flops == 9e15 && peaks.bytes_per_s[PEAKS_DRAM] == 9e15);
    assert_true(peaks.f64_flops > 1e8 && peaks.bytes_per_s[PEAKS_L1] > 1e8);
    assert_int_equal(peaks.runs, 5);
    assert_true(peaks.settled);
}

TEST(a_spoilt_record_is_replaced)
{
    static const char *const spoilt[] = {"", "{\"version\":2}", "{\"version\":1,\"runs\":1}"};
    struct peaks peaks;
    assert_int_equal(peaks_get(&peaks, directory, NULL), 0);
    for (size_t i = 0; i < COUNT(spoilt); i++) {
        write_record(spoilt[i]);
        assert_int_equal(peaks_get(&peaks, directory, NULL), 0);
        assert_plausible(&peaks);
        assert_int_equal(peaks.runs, 1);
    }
}

TEST(no_place_for_a_record)
{
    struct peaks peaks;
    assert_int_equal(peaks_get(&peaks, "/no/such/place", NULL), 0);
    assert_plausible(&peaks);
}

static void *get(void *peaks)
{
    assert_int_equal(peaks_get(peaks, directory, NULL), 0);
    return NULL;
}

TEST(several_at_once)
{
    pthread_t threads[3];
    struct peaks peaks[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, get, &peaks[i]), 0);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_plausible(&peaks[i]);
    }
}

static const struct peaks round_numbers = {
    .cores = 1,
    .bytes_per_s = {8e11, 4e11, 2e11, 1e10},
    .capacity_bytes = {1e5, 1e6, 1e7, INFINITY},
    .f32_flops = 2e11,
    .f64_flops = 1e11,
    .narrow_flops = 8e11,
};

TEST_WITH(floor, NULL, NULL)
{
    static const struct {
        double flops, bytes, ms; /* before the margin */
    } rows[] = {
        {0, 0, 0},
        {2e8, 0, 1},
        {0, 8e4, 1e-4},                /* in the first cache */
        {0, 1e5, 1.25e-4},             /* just filling it */
        {0, 5e5, 1e-3},                /* 4e5 from the second is less than 5e5 from the first */
        {0, 1e7, (1e7 - 1.1e6) / 2e8}, /* all caches together: no memory */
        {0, 1.11e7, 1e7 / 2e8},
        {0, 1e9, (1e9 - 1.11e7) / 1e7}, /* memory */
        {2e8, 1e9, (1e9 - 1.11e7) / 1e7},
        {2e11, 1e6, 1000},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        double got = peaks_floor_ms(&round_numbers, rows[i].flops, rows[i].bytes) * PEAKS_MARGIN;
        if (fabs(got - rows[i].ms) > 1e-12 + 1e-9 * rows[i].ms)
            fail_msg("row %zu: %.9g instead of %.9g", i, got, rows[i].ms);
    }
    assert_true(peaks_floor_narrow_ms(&round_numbers, 8e8, 0) * PEAKS_MARGIN == 1);
    assert_true(peaks_floor_ms(&(struct peaks){0}, 1e9, 1e9) == 0);
    /* Matrix units that could emulate single precision lower the floor. */
    struct peaks matrix = round_numbers;
    matrix.narrow_flops = 32 * matrix.f32_flops;
    assert_true(peaks_floor_ms(&matrix, 1e9, 0) < peaks_floor_ms(&round_numbers, 1e9, 0) / 5);
}
