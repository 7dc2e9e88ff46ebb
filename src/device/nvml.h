/* nvml: readings of a GPU by NVIDIA's management library, loaded at run time.
 *
 * The driver computes; this one knows clocks, heat, power and health. No header of it is needed to
 * build: names here lack the `nvml`, numbers are those of its reference (docs.nvidia.com/deploy/
 * nvml-api). It asks the driver through /dev/nvidiactl and needs no privilege.
 *
 * Nothing of it is needed to judge: a function that the library lacks, or that this GPU refuses (a
 * virtual GPU, a MIG instance), leaves its field "unknown".
 *
 * Ownership: the caller's storage, zeroed is closed. Threads: the library's own locks make every
 * function safe; one struct nvml serves a process.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVML_LIBRARY "libnvidia-ml.so.1"
#define NVML_TEXT_BYTES 96

typedef int nvml_result; /* nvmlReturn_t */
typedef void *nvml_device;

enum {
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_ERROR_RESET_REQUIRED = 16,
};

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };          /* nvmlClockType_t */
enum { NVML_ECC_UNCORRECTED = 1, NVML_ECC_VOLATILE = 0 };   /* since the driver was loaded */
enum { NVML_VIOLATION_POWER = 0, NVML_VIOLATION_HEAT = 1 }; /* nvmlPerfPolicyType_t */

struct nvml_memory { /* nvmlMemory_t */
    unsigned long long total, free, used;
};

struct nvml_utilization { /* nvmlUtilization_t: percent */
    unsigned gpu, memory;
};

struct nvml_violation { /* nvmlViolationTime_t: us, and ns below the clock that was asked for */
    unsigned long long reference_us, violation_ns;
};

/* field, symbol, arguments: without these it is of no use */
#define NVML_FUNCTIONS(X)                                                                          \
    X(init, "nvmlInit_v2", (void))                                                                 \
    X(shutdown, "nvmlShutdown", (void))                                                            \
    X(by_uuid, "nvmlDeviceGetHandleByUUID", (const char *uuid, nvml_device *device))

/* … and these a version of it, or a GPU, may lack */
#define NVML_QUESTIONS(X)                                                                          \
    X(version, "nvmlSystemGetNVMLVersion", (char *text, unsigned bytes))                           \
    X(driver_version, "nvmlSystemGetDriverVersion", (char *text, unsigned bytes))                  \
    X(clock, "nvmlDeviceGetClockInfo", (nvml_device device, int clock, unsigned *mhz))             \
    X(clock_max, "nvmlDeviceGetMaxClockInfo", (nvml_device device, int clock, unsigned *mhz))      \
    X(temperature, "nvmlDeviceGetTemperature", (nvml_device device, int sensor, unsigned *c))      \
    X(power, "nvmlDeviceGetPowerUsage", (nvml_device device, unsigned *mw))                        \
    X(power_limit, "nvmlDeviceGetEnforcedPowerLimit", (nvml_device device, unsigned *mw))          \
    X(reasons, "nvmlDeviceGetCurrentClocksEventReasons",                                           \
      (nvml_device device, unsigned long long *reasons))                                           \
    X(reasons_before_535, "nvmlDeviceGetCurrentClocksThrottleReasons",                             \
      (nvml_device device, unsigned long long *reasons))                                           \
    X(violation, "nvmlDeviceGetViolationStatus",                                                   \
      (nvml_device device, int policy, struct nvml_violation *time))                               \
    X(memory, "nvmlDeviceGetMemoryInfo", (nvml_device device, struct nvml_memory * memory))        \
    X(utilization, "nvmlDeviceGetUtilizationRates",                                                \
      (nvml_device device, struct nvml_utilization * rates))                                       \
    X(processes, "nvmlDeviceGetComputeRunningProcesses_v3",                                        \
      (nvml_device device, unsigned *count, void *infos))                                          \
    X(ecc_errors, "nvmlDeviceGetTotalEccErrors",                                                   \
      (nvml_device device, int type, int counter, unsigned long long *count))                      \
    X(remapped_rows, "nvmlDeviceGetRemappedRows",                                                  \
      (nvml_device device, unsigned *corrected, unsigned *uncorrected, unsigned *pending,          \
       unsigned *failed))                                                                          \
    X(retired_pending, "nvmlDeviceGetRetiredPagesPendingStatus",                                   \
      (nvml_device device, int *pending))                                                          \
    X(minor, "nvmlDeviceGetMinorNumber", (nvml_device device, unsigned *minor))                    \
    X(mig_mode, "nvmlDeviceGetMigMode",                                                            \
      (nvml_device device, unsigned *current, unsigned *pending))                                  \
    X(mig_parent, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle",                                  \
      (nvml_device instance, nvml_device * parent))

struct nvml {
    void *library;
    bool open;
    char text[NVML_TEXT_BYTES];        /* its version; "" if unknown */
    char driver_text[NVML_TEXT_BYTES]; /* the driver's: "580.65.06" */
#define X(field, symbol, arguments) nvml_result(*field) arguments;
    NVML_FUNCTIONS(X)
    NVML_QUESTIONS(X) /* NULL: it has none */
#undef X
};

/* Loads and starts it. `path` names another library (tests); NULL: the system's. ERR_MISSING: there
 * is none; ERR_UNSUPPORTED: too old, or it refuses (its driver is not loaded, or another). */
NODISCARD int nvml_open(struct nvml *nvml, const char *path, struct err *err);
void nvml_close(struct nvml *nvml);
