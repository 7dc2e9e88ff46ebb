#include "device/gpu_state.h"

#include <stdio.h>
#include <string.h>

void gpu_sensor_open(struct gpu_sensor *sensor, const struct nvml *nvml, const char *uuid)
{
    nvml_device device;
    *sensor = (struct gpu_sensor){0};
    if (!nvml || !nvml->open || nvml->by_uuid(uuid, &device) != 0)
        return;
    *sensor = (struct gpu_sensor){.nvml = nvml, .self = device, .gpu = device};
    sensor->mig = strncmp(uuid, "MIG-", 4) == 0 && nvml->mig_parent &&
                  nvml->mig_parent(device, &sensor->gpu) == 0;
    if (!sensor->mig)
        sensor->gpu = device;
}

/* Whether the library has the function and the GPU answered. */
#define READS(nvml, function, ...) ((nvml)->function && (nvml)->function(__VA_ARGS__) == 0)

int gpu_sensor_minor(const struct gpu_sensor *sensor)
{
    unsigned minor;
    bool known = sensor->nvml && READS(sensor->nvml, minor, sensor->gpu, &minor);
    return known ? (int)minor : -1;
}

static int64_t violation_ns(const struct gpu_sensor *sensor, int policy)
{
    struct nvml_violation time;
    return READS(sensor->nvml, violation, sensor->gpu, policy, &time) ? (int64_t)time.violation_ns
                                                                      : -1;
}

static int64_t read_reasons(const struct gpu_sensor *sensor)
{
    const struct nvml *nvml = sensor->nvml;
    unsigned long long reasons;
    bool known = READS(nvml, reasons, sensor->gpu, &reasons) ||
                 READS(nvml, reasons_before_535, sensor->gpu, &reasons);
    return known ? (int64_t)(reasons & INT64_MAX) : -1;
}

/* How fast it runs, and why: two questions, because each takes the driver half a millisecond. */
static void read_clock(const struct gpu_sensor *sensor, struct gpu_state *state)
{
    unsigned mhz;
    if (READS(sensor->nvml, clock, sensor->gpu, NVML_CLOCK_SM, &mhz))
        state->sm_mhz = (int)mhz;
    state->reasons = read_reasons(sensor);
}

void gpu_sensor_read(const struct gpu_sensor *sensor, struct gpu_state *state)
{
    const struct nvml *nvml = sensor->nvml;
    nvml_device gpu = sensor->gpu;
    unsigned value;
    *state = (struct gpu_state){-1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    if (!nvml)
        return;
    read_clock(sensor, state);
    if (READS(nvml, clock_max, gpu, NVML_CLOCK_SM, &value))
        state->sm_max_mhz = (int)value;
    if (READS(nvml, clock, gpu, NVML_CLOCK_MEMORY, &value))
        state->memory_mhz = (int)value;
    if (READS(nvml, clock_max, gpu, NVML_CLOCK_MEMORY, &value))
        state->memory_max_mhz = (int)value;
    if (READS(nvml, temperature, gpu, 0, &value))
        state->temperature_c = (int)value;
    if (READS(nvml, power, gpu, &value))
        state->power_w = value * 1e-3;
    if (READS(nvml, power_limit, gpu, &value))
        state->power_limit_w = value * 1e-3;
    state->heat_ns = violation_ns(sensor, NVML_VIOLATION_HEAT);
    state->power_ns = violation_ns(sensor, NVML_VIOLATION_POWER);
}

static void read_repairs(const struct gpu_sensor *sensor, struct gpu_health *health)
{
    unsigned corrected, uncorrected, pending, failed;
    int retiring;
    if (READS(sensor->nvml, remapped_rows, sensor->gpu, &corrected, &uncorrected, &pending,
              &failed)) {
        health->repair_pending = pending != 0;
        health->repair_failed = failed != 0;
    } else if (READS(sensor->nvml, retired_pending, sensor->gpu, &retiring)) {
        health->repair_pending = retiring != 0;
    }
}

void gpu_sensor_examine(const struct gpu_sensor *sensor, struct gpu_health *health)
{
    const struct nvml *nvml = sensor->nvml;
    struct nvml_memory memory;
    struct nvml_utilization rates;
    unsigned long long errors;
    unsigned count = 0, mode, pending;
    *health = (struct gpu_health){-1, -1, -1, -1, -1, -1, -1, -1, -1};
    if (!nvml)
        return;
    nvml_result status = nvml->memory ? nvml->memory(sensor->self, &memory) : -1;
    if (status == 0) {
        health->memory_free = (int64_t)memory.free;
        health->memory_used = (int64_t)memory.used;
    }
    if (status >= 0)
        health->lost = status == NVML_ERROR_GPU_IS_LOST || status == NVML_ERROR_RESET_REQUIRED;
    if (READS(nvml, utilization, sensor->self, &rates))
        health->busy_percent = (int)rates.gpu;
    if (READS(nvml, ecc_errors, sensor->gpu, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE, &errors))
        health->ecc_uncorrected = (int64_t)(errors & INT64_MAX);
    if (READS(nvml, mig_mode, sensor->gpu, &mode, &pending))
        health->mig_mode = mode == 1;
    status = nvml->processes ? nvml->processes(sensor->self, &count, NULL) : -1;
    if (status == 0 ||
        status == NVML_ERROR_INSUFFICIENT_SIZE) /* the number is returned in either case */
        health->processes = (int)count;
    read_repairs(sensor, health);
}

const char *gpu_health_complaint(const struct gpu_health *health)
{
    if (health->lost == 1)
        return "the driver has lost it, or asks for a reset (nvidia-smi -r, or a reboot)";
    if (health->repair_failed == 1)
        return "its memory is faulty and cannot be repaired any more (failed row remapping)";
    return NULL;
}

static void take_in(struct gpu_watch *watch, const struct gpu_state *state)
{
    watch->known |= state->sm_mhz >= 0 || state->reasons >= 0 || state->temperature_c >= 0;
    if (state->reasons >= 0)
        watch->reasons |= state->reasons;
    if (state->sm_mhz >= 0 && (watch->sm_lowest_mhz < 0 || state->sm_mhz < watch->sm_lowest_mhz))
        watch->sm_lowest_mhz = state->sm_mhz;
}

void gpu_watch_begin(struct gpu_watch *watch, const struct gpu_sensor *sensor)
{
    *watch = (struct gpu_watch){.sensor = sensor, .sm_lowest_mhz = -1};
    gpu_sensor_read(sensor, &watch->before);
    watch->after = watch->before;
    take_in(watch, &watch->before);
}

void gpu_watch_look(struct gpu_watch *watch)
{
    if (!watch->sensor->nvml)
        return;
    read_clock(watch->sensor, &watch->after);
    take_in(watch, &watch->after);
}

/* What slowed it between two readings left its mark in the counter of that time. */
void gpu_watch_end(struct gpu_watch *watch)
{
    gpu_sensor_read(watch->sensor, &watch->after);
    take_in(watch, &watch->after);
    if (watch->before.heat_ns >= 0 && watch->after.heat_ns > watch->before.heat_ns)
        watch->reasons |= GPU_REASON_HEAT;
}

void gpu_watch_slowed(const struct gpu_watch *watch, char *text, size_t text_bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (const struct gpu_reason *reason = gpu_reasons; reason->name; reason++)
        if (reason->slows && (watch->reasons & reason->bit) && used < text_bytes)
            used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", used ? ", " : "",
                                     reason->name);
}
