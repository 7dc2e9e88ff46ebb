/* What NVML reports and we measure of each GPU, what that costs, and whether it can be true:
 * `facts PEAKS.cubin`, by facts_check.sh. Ends with 1 where something cannot be. */
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "judge/gpu/gpu_pool.h"

#include <stdio.h>
#include <stdlib.h>

#define TIMES 200

static int failures;

static void check(bool good, const char *what)
{
    printf("  %s  %s\n", good ? "ok" : "NO", what);
    failures += !good;
}

static int no_probe(void *context, const struct gpu *facts, struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED, "not here");
}

static void cost(const struct gpu_sensor *sensor)
{
    const struct nvml *nvml = sensor->nvml;
    struct gpu_state state;
    struct gpu_health health;
    unsigned value;
    unsigned long long bits;
    struct nvml_violation time;
#define COST(label, call)                                                                          \
    do {                                                                                           \
        int64_t start_ns = clock_now_ns();                                                         \
        for (int i = 0; i < TIMES; i++)                                                            \
            (void)(call);                                                                          \
        printf("  %8.1f us  %s\n", clock_ms_since(start_ns) * 1e3 / TIMES, label);                 \
    } while (0)
    COST("one whole reading (gpu_sensor_read)", (gpu_sensor_read(sensor, &state), 0));
    COST("health (gpu_sensor_examine)", (gpu_sensor_examine(sensor, &health), 0));
    if (!nvml)
        return;
    COST("clock", nvml->clock(sensor->gpu, NVML_CLOCK_SM, &value));
    COST("highest clock", nvml->clock_max(sensor->gpu, NVML_CLOCK_SM, &value));
    COST("temperature", nvml->temperature(sensor->gpu, 0, &value));
    COST("power", nvml->power(sensor->gpu, &value));
    if (nvml->reasons)
        COST("reasons", nvml->reasons(sensor->gpu, &bits));
    if (nvml->violation)
        COST("violation", nvml->violation(sensor->gpu, NVML_VIOLATION_HEAT, &time));
#undef COST
}

static void show_state(const struct gpu_unit *unit)
{
    struct gpu_state now;
    struct gpu_health health;
    gpu_sensor_read(&unit->sensor, &now);
    gpu_sensor_examine(&unit->sensor, &health);
    printf("  SM %d of %d MHz, memory %d of %d MHz, %d C, %.0f of %.0f W, reasons %#llx, "
           "slowed by heat %lld ns, by power %lld ns\n",
           now.sm_mhz, now.sm_max_mhz, now.memory_mhz, now.memory_max_mhz, now.temperature_c,
           now.power_w, now.power_limit_w, (unsigned long long)now.reasons, (long long)now.heat_ns,
           (long long)now.power_ns);
    printf("  %.1f GiB free, %d %% busy, %d processes, ECC %lld, repair pending %d failed %d, "
           "MIG mode %d\n",
           (double)health.memory_free / (1 << 30), health.busy_percent, health.processes,
           (long long)health.ecc_uncorrected, health.repair_pending, health.repair_failed,
           health.mig_mode);
    check(unit->sensor.nvml && now.sm_mhz > 0 && now.sm_mhz <= now.sm_max_mhz, "SM clock");
    check(now.temperature_c > 0 && now.temperature_c < 110, "temperature");
    check(now.reasons >= 0, "reasons");
    check(gpu_health_complaint(&health) == NULL, "health");
}

static void show_peaks(const struct gpu_context *gpu, const void *image)
{
    struct gpu_peaks peaks;
    struct err err;
    int64_t start_ns = clock_now_ns();
    if (gpu_peaks_get(&peaks, gpu, image, NULL, &err) < 0) {
        check(false, err.text);
        return;
    }
    printf("  peaks, measured in %.1f ms, %s:\n", clock_ms_since(start_ns),
           peaks.settled ? "settled" : "NOT settled");
    for (enum gpu_peak peak = 0; peak < GPU_PEAK_COUNT; peak++) {
        char text[64];
        gpu_peak_text(&peaks, peak, text, sizeof text);
        printf("    %-12s %s\n", gpu_peak_names[peak], text);
    }
    printf("  bounds: memory %.2f TB/s, L2 %.2f TB/s, wide %.0f TFLOP/s, narrow %.0f TFLOP/s\n",
           peaks.dram_bytes_per_s * 1e-12, peaks.l2_bytes_per_s * 1e-12, peaks.wide_flops * 1e-12,
           peaks.narrow_flops * 1e-12);
    check(peaks.settled, "settled at once: no other process uses this GPU");
    check(peaks.measured[GPU_DRAM_READ] <= gpu->facts.memory_bytes_per_s * 1.02,
          "memory is no faster than its bus");
    check(peaks.measured[GPU_L2_READ] > 1.2 * peaks.measured[GPU_DRAM_READ], "L2 beats memory");
    check(peaks.measured[GPU_F32] >
                  0.7 * 256 * gpu->facts.multiprocessors * gpu->facts.clock_mhz * 1e6 ||
              gpu->facts.major != 9,
          "f32 within 30 % of the architecture (Hopper)");
    check(peaks.measured[GPU_F16] < peaks.narrow_flops, "f16 below its bound");
}

static void one(struct gpu_pool *pool, struct gpu_unit *unit, const void *image)
{
    struct err err;
    struct gpu_watch watch;
    char slowed[160];
    printf("GPU %d: %s, %s\n", unit->facts.ordinal, unit->facts.name, unit->facts.uuid);
    int64_t start_ns = clock_now_ns();
    if (gpu_pool_try(pool, unit, &err) < 0) {
        check(false, err.text);
        return;
    }
    printf("  opened and tried in %.1f ms\n", clock_ms_since(start_ns));
    if (gpu_context_use(gpu_unit_context(unit), &err) < 0)
        check(false, err.text);
    show_state(unit);
    gpu_watch_begin(&watch, &unit->sensor);
    show_peaks(gpu_unit_context(unit), image);
    gpu_watch_end(&watch);
    gpu_watch_slowed(&watch, slowed, sizeof slowed);
    printf("  while measuring: SM %d, then %d, lowest %d MHz; slowed by: %s\n", watch.before.sm_mhz,
           watch.after.sm_mhz, watch.sm_lowest_mhz, slowed[0] ? slowed : "nothing");
    start_ns = clock_now_ns();
    check(!gpu_pool_suspect(pool, unit, &err), "no suspicion");
    printf("  a suspicion costs %.2f ms\n", clock_ms_since(start_ns));
    cost(&unit->sensor);
}

int main(int argc, char **argv)
{
    struct gpu_pool pool;
    struct gpu_pool_options options = {.devices = "all", .quarantine_ms = 1, .probe = no_probe};
    struct err err;
    struct nvml nvml;
    char *image = NULL;
    size_t bytes;
    if (argc != 2 || file_read(argv[1], (size_t)16 << 20, &image, &bytes, &err) < 0)
        return 2;
    int64_t start_ns = clock_now_ns();
    if (nvml_open(&nvml, NULL, &err) < 0)
        check(false, err.text);
    else
        printf("NVML %s, driver %s: started in %.1f ms\n", nvml.text, nvml.driver_text,
               clock_ms_since(start_ns));
    nvml_close(&nvml);
    gpu_pool_init(&pool, &options);
    start_ns = clock_now_ns();
    if (gpu_pool_list(&pool, &err) < 0) {
        check(false, err.text);
        return 1;
    }
    printf("%d GPUs found in %.1f ms\n", pool.count, clock_ms_since(start_ns));
    for (int i = 0; i < pool.count; i++)
        one(&pool, &pool.units[i], image);
    gpu_pool_deinit(&pool);
    mem_free(image);
    printf(failures ? "%d things cannot be\n" : "all of it can be\n", failures);
    return failures > 0;
}
