/* A management library without GPUs, for those of tests/fake/cuda.c. FAKE_NVML_FAIL names a
 * function that fails with FAKE_NVML_ERROR (3: not supported), "all" every question. The clocks'
 * reasons are FAKE_NVML_REASONS, the SM clock FAKE_NVML_SM_MHZ; FAKE_NVML_HEAT is what the counter
 * of heat grows by, FAKE_NVML_ECC, _PENDING and _BROKEN are what is known of the memory. */
#include "device/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? (int)strtol(text, NULL, 0) : otherwise;
}

static nvml_result outcome(const char *function)
{
    const char *fails = getenv("FAKE_NVML_FAIL");
    bool meant = fails && (strcmp(fails, function) == 0 || strcmp(fails, "all") == 0);
    return meant ? number("FAKE_NVML_ERROR", 3) : 0;
}

#define X(field, symbol, arguments) nvml_result fake_##field arguments __asm__(symbol);
NVML_FUNCTIONS(X)
NVML_QUESTIONS(X)
#undef X

static char gpus[16], instances[16];

nvml_result fake_init(void)
{
    const char *fails = getenv("FAKE_NVML_FAIL");
    return fails && strcmp(fails, "nvmlInit_v2") == 0 ? number("FAKE_NVML_ERROR", 3) : 0;
}

nvml_result fake_shutdown(void)
{
    return 0;
}

/* The first byte of a UUID of the stand-in driver counts its devices. */
nvml_result fake_by_uuid(const char *uuid, nvml_device *device)
{
    unsigned index;
    if (sscanf(uuid + 4, "%2x", &index) != 1 || index >= sizeof gpus)
        return 6;
    *device = strncmp(uuid, "MIG-", 4) == 0 ? &instances[index] : &gpus[index];
    return 0;
}

nvml_result fake_version(char *text, unsigned bytes)
{
    snprintf(text, bytes, "13.580.65");
    return outcome("nvmlSystemGetNVMLVersion");
}

nvml_result fake_driver_version(char *text, unsigned bytes)
{
    snprintf(text, bytes, "580.65.06");
    return outcome("nvmlSystemGetDriverVersion");
}

/* A MIG instance has no clocks of its own. */
static bool is_whole_gpu(nvml_device device)
{
    return (char *)device >= gpus && (char *)device < gpus + sizeof gpus;
}

static nvml_result answer(const char *function, nvml_device device, unsigned *value,
                          unsigned reading)
{
    *value = reading;
    return is_whole_gpu(device) ? outcome(function) : 3;
}

nvml_result fake_minor(nvml_device device, unsigned *minor)
{
    return answer("nvmlDeviceGetMinorNumber", device, minor, 3);
}

nvml_result fake_clock(nvml_device device, int clock, unsigned *mhz)
{
    return answer("nvmlDeviceGetClockInfo", device, mhz,
                  clock == NVML_CLOCK_SM ? (unsigned)number("FAKE_NVML_SM_MHZ", 1755) : 3201);
}

nvml_result fake_clock_max(nvml_device device, int clock, unsigned *mhz)
{
    return answer("nvmlDeviceGetMaxClockInfo", device, mhz, clock == NVML_CLOCK_SM ? 1980 : 3201);
}

nvml_result fake_temperature(nvml_device device, int sensor, unsigned *c)
{
    return answer("nvmlDeviceGetTemperature", device, c, sensor == 0 ? 41 : 0);
}

nvml_result fake_power(nvml_device device, unsigned *mw)
{
    return answer("nvmlDeviceGetPowerUsage", device, mw, 215500);
}

nvml_result fake_power_limit(nvml_device device, unsigned *mw)
{
    return answer("nvmlDeviceGetEnforcedPowerLimit", device, mw, 700000);
}

nvml_result fake_reasons(nvml_device device, unsigned long long *reasons)
{
    *reasons = (unsigned long long)number("FAKE_NVML_REASONS", 0);
    return is_whole_gpu(device) ? outcome("nvmlDeviceGetCurrentClocksEventReasons") : 3;
}

nvml_result fake_reasons_before_535(nvml_device device, unsigned long long *reasons)
{
    *reasons = (unsigned long long)number("FAKE_NVML_REASONS", 0);
    return is_whole_gpu(device) ? outcome("nvmlDeviceGetCurrentClocksThrottleReasons") : 3;
}

nvml_result fake_violation(nvml_device device, int policy, struct nvml_violation *time)
{
    static unsigned long long heat_ns;
    if (policy == NVML_VIOLATION_HEAT)
        heat_ns += (unsigned)number("FAKE_NVML_HEAT", 0);
    *time = (struct nvml_violation){.violation_ns = policy == NVML_VIOLATION_HEAT ? heat_ns : 0};
    return is_whole_gpu(device) ? outcome("nvmlDeviceGetViolationStatus") : 3;
}

nvml_result fake_memory(nvml_device device, struct nvml_memory *memory)
{
    unsigned long long total = is_whole_gpu(device) ? 1ULL << 34 : 1ULL << 32;
    *memory = (struct nvml_memory){.total = total,
                                   .used = 1ULL << 30,
                                   .free = total - (1ULL << 30)};
    return outcome("nvmlDeviceGetMemoryInfo");
}

nvml_result fake_utilization(nvml_device device, struct nvml_utilization *rates)
{
    *rates = (struct nvml_utilization){.gpu = 12, .memory = 3};
    return is_whole_gpu(device) ? outcome("nvmlDeviceGetUtilizationRates") : 3;
}

nvml_result fake_processes(nvml_device device, unsigned *count, void *infos)
{
    unsigned capacity = *count;
    *count = 2;
    nvml_result result = outcome("nvmlDeviceGetComputeRunningProcesses_v3");
    return result != 0 || capacity >= 2 ? result : NVML_ERROR_INSUFFICIENT_SIZE;
}

nvml_result fake_ecc_errors(nvml_device device, int type, int counter, unsigned long long *count)
{
    *count = type == NVML_ECC_UNCORRECTED && counter == NVML_ECC_VOLATILE
                 ? (unsigned)number("FAKE_NVML_ECC", 0)
                 : 99;
    return is_whole_gpu(device) ? outcome("nvmlDeviceGetTotalEccErrors") : 3;
}

nvml_result fake_remapped_rows(nvml_device device, unsigned *corrected, unsigned *uncorrected,
                               unsigned *pending, unsigned *failed)
{
    *corrected = *uncorrected = 0;
    *pending = (unsigned)number("FAKE_NVML_PENDING", 0);
    *failed = (unsigned)number("FAKE_NVML_BROKEN", 0);
    return is_whole_gpu(device) ? outcome("nvmlDeviceGetRemappedRows") : 3;
}

nvml_result fake_retired_pending(nvml_device device, int *pending)
{
    *pending = number("FAKE_NVML_PENDING", 0);
    return is_whole_gpu(device) ? outcome("nvmlDeviceGetRetiredPagesPendingStatus") : 3;
}

nvml_result fake_mig_mode(nvml_device device, unsigned *current, unsigned *pending)
{
    *current = *pending = (unsigned)number("FAKE_CUDA_MIG", 0);
    return is_whole_gpu(device) ? outcome("nvmlDeviceGetMigMode") : 3;
}

nvml_result fake_mig_parent(nvml_device instance, nvml_device *parent)
{
    if (is_whole_gpu(instance))
        return 2;
    *parent = &gpus[(char *)instance - instances];
    return outcome("nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
}
