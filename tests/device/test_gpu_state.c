#include "../support/fake_cuda.h"
#include "../support/test.h"
#include "device/gpu_state.h"

#include <stdlib.h>

#define WHOLE_GPU "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1"
#define INSTANCE "MIG-01112131-4151-6171-8191-a1b1c1d1e1f1"

static struct nvml nvml;

FIXTURE(setup)
{
    fake_cuda_clean(state);
    return nvml_open(&nvml, fake_nvml, NULL);
}

FIXTURE(teardown)
{
    nvml_close(&nvml);
    return fake_cuda_clean(state);
}

TEST_GROUP(fake_cuda_find, NULL);
TEST_EACH(setup, teardown);

TEST(versions)
{
    assert_string_equal(nvml.text, "13.580.65");
    assert_string_equal(nvml.driver_text, "580.65.06");
}

TEST(library_that_is_none)
{
    struct nvml other;
    struct err err;
    assert_int_equal(nvml_open(&other, "/nonexistent/libnvidia-ml.so.1", &err), ERR_MISSING);
    assert_int_equal(nvml_open(&other, "libc.so.6", &err), ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "has no nvmlInit_v2"));
    setenv("FAKE_NVML_FAIL", "nvmlInit_v2", 1);
    setenv("FAKE_NVML_ERROR", "18", 1);
    assert_int_equal(nvml_open(&other, fake_nvml, &err), ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "error 18"));
    assert_false(other.open);
    nvml_close(&other);
}

/* A MIG instance has its own memory, and its board's clocks and health. */
TEST(readings)
{
    static const struct {
        const char *uuid;
        bool mig;
        int64_t memory_free;
        int busy_percent;
    } rows[] = {
        {WHOLE_GPU, false, 15LL << 30, 12},
        {INSTANCE, true, 3LL << 30, -1},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct gpu_sensor sensor;
        struct gpu_state now;
        struct gpu_health health;
        gpu_sensor_open(&sensor, &nvml, rows[i].uuid);
        assert_int_equal(sensor.mig, rows[i].mig);
        assert_int_equal(gpu_sensor_minor(&sensor), 3);
        gpu_sensor_read(&sensor, &now);
        assert_int_equal(now.sm_mhz, 1755);
        assert_int_equal(now.sm_max_mhz, 1980);
        assert_int_equal(now.memory_mhz, 3201);
        assert_int_equal(now.temperature_c, 41);
        assert_true(now.power_w == 215.5 && now.power_limit_w == 700);
        assert_int_equal(now.reasons, 0);
        gpu_sensor_examine(&sensor, &health);
        assert_true(health.memory_free == rows[i].memory_free);
        assert_int_equal(health.busy_percent, rows[i].busy_percent);
        assert_int_equal(health.processes, 2);
        assert_int_equal(health.ecc_uncorrected, 0);
        assert_int_equal(health.repair_pending, 0);
        assert_int_equal(health.lost, 0);
        assert_null(gpu_health_complaint(&health));
    }
}

static void assert_nothing(const struct gpu_sensor *sensor)
{
    struct gpu_state now;
    struct gpu_health health;
    struct gpu_watch watch;
    char text[64];
    gpu_sensor_read(sensor, &now);
    assert_true(now.sm_mhz < 0 && now.sm_max_mhz < 0 && now.memory_mhz < 0);
    assert_true(now.temperature_c < 0 && now.power_w < 0 && now.reasons < 0 && now.heat_ns < 0);
    assert_int_equal(gpu_sensor_minor(sensor), -1);
    gpu_sensor_examine(sensor, &health);
    assert_true(health.memory_free < 0 && health.processes < 0 && health.busy_percent < 0);
    assert_true(health.repair_pending < 0 && health.mig_mode < 0);
    assert_null(gpu_health_complaint(&health));
    gpu_watch_begin(&watch, sensor);
    gpu_watch_end(&watch);
    assert_false(watch.known);
    gpu_watch_slowed(&watch, text, sizeof text);
    assert_string_equal(text, "");
}

/* Every question refused, as on a virtual GPU; no such GPU; no library at all. */
TEST(missing_readings_are_no_error)
{
    struct gpu_sensor sensor;
    setenv("FAKE_NVML_FAIL", "all", 1);
    gpu_sensor_open(&sensor, &nvml, WHOLE_GPU);
    assert_nothing(&sensor);
    unsetenv("FAKE_NVML_FAIL");
    gpu_sensor_open(&sensor, &nvml, "GPU-ff");
    assert_nothing(&sensor);
    gpu_sensor_open(&sensor, NULL, WHOLE_GPU);
    assert_nothing(&sensor);
}

/* A library that is older than the newer names. */
TEST(older_names)
{
    struct gpu_sensor sensor;
    struct gpu_state now;
    gpu_sensor_open(&sensor, &nvml, WHOLE_GPU);
    nvml.reasons = NULL;
    setenv("FAKE_NVML_REASONS", "0x80", 1);
    gpu_sensor_read(&sensor, &now);
    assert_int_equal(now.reasons, 0x80);
}

TEST(complaints)
{
    static const struct {
        const char *variable, *value, *fail, *words;
    } rows[] = {
        {"FAKE_NVML_ERROR", "15", "nvmlDeviceGetMemoryInfo", "has lost it"},
        {"FAKE_NVML_ERROR", "16", "nvmlDeviceGetMemoryInfo", "asks for a reset"},
        {"FAKE_NVML_ERROR", "3", "nvmlDeviceGetMemoryInfo", NULL},
        {"FAKE_NVML_BROKEN", "1", NULL, "cannot be repaired"},
        {"FAKE_NVML_PENDING", "1", NULL, NULL}, /* still good to work with */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct gpu_sensor sensor;
        struct gpu_health health;
        fake_cuda_clean(state);
        setenv(rows[i].variable, rows[i].value, 1);
        if (rows[i].fail)
            setenv("FAKE_NVML_FAIL", rows[i].fail, 1);
        gpu_sensor_open(&sensor, &nvml, WHOLE_GPU);
        gpu_sensor_examine(&sensor, &health);
        const char *complaint = gpu_health_complaint(&health);
        if (!complaint != !rows[i].words || (complaint && !strstr(complaint, rows[i].words)))
            fail_msg("row %zu: %s", i, complaint ? complaint : "no complaint");
    }
}

TEST(a_watch_keeps_what_passes)
{
    static const struct {
        const char *reasons, *heat, *text;
    } rows[] = {
        {"0", "0", ""},
        {"0x5", "0", ""}, /* idle and the power cap say why, not that it means less */
        {"0x8", "0", "hardware slowdown"},
        {"0xc4", "0", "hardware thermal slowdown, power brake"},
        {"0", "1000", "software thermal slowdown"}, /* between two readings */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct gpu_sensor sensor;
        struct gpu_watch watch;
        char text[128];
        fake_cuda_clean(state);
        gpu_sensor_open(&sensor, &nvml, WHOLE_GPU);
        gpu_watch_begin(&watch, &sensor);
        setenv("FAKE_NVML_REASONS", rows[i].reasons, 1);
        setenv("FAKE_NVML_SM_MHZ", "1200", 1);
        gpu_watch_look(&watch);
        unsetenv("FAKE_NVML_REASONS");
        setenv("FAKE_NVML_SM_MHZ", "1980", 1);
        setenv("FAKE_NVML_HEAT", rows[i].heat, 1);
        gpu_watch_end(&watch);
        assert_true(watch.known);
        assert_int_equal(watch.before.sm_mhz, 1755);
        assert_int_equal(watch.sm_lowest_mhz, 1200);
        assert_int_equal(watch.after.sm_mhz, 1980);
        gpu_watch_slowed(&watch, text, sizeof text);
        assert_string_equal(text, rows[i].text);
        gpu_watch_slowed(&watch, text, 9); /* cut, never beyond */
        assert_true(strlen(text) < 9);
    }
}
