/* capabilities: tries, on this machine, everything that judging needs. Plain data. Threads: any. */
#pragma once

#include "base/err.h"
#include "base/limits.h"
#include "base/settings.h"
#include "device/gpu_peaks.h"
#include "device/gpu_state.h"
#include "device/optional_libraries.h"
#include "device/peaks.h"

#include <stdbool.h>
#include <stdint.h>

struct gpu_capabilities {
    struct gpu facts;
    struct gpu_state now;
    struct gpu_health health;
    struct gpu_peaks peaks; /* runs == 0: not measured yet */
    char problem[768];      /* "": it was tried, and works */
};

/* A language of the configuration: its program is there and can be executed. */
struct language_capabilities {
    char name[64], program[256];
};

struct capabilities {
    uint32_t layers; /* that held around a native candidate's process; enum sandbox_layer */
    int landlock_abi;
    bool can_read;    /* the judge may read a sandboxed process's memory */
    double native_ms; /* request to ready, median of five */
    double torch_load_ms, torch_ms;
    char sandbox_error[768], torch_error[768]; /* "" where it works */
    char cc[256], cc_version[256], cxx[256], cxx_version[256], nvcc[256], nvrtc[256], python[256],
        cache[256];
    int nvrtc_version;     /* 13005 is 13.5 */
    char nvrtc_error[768]; /* "" where it works */
    struct language_capabilities languages[LIMIT_LANGUAGES];
    size_t language_count;
    bool awake; /* idle processors can be kept from halting while something is timed */
    struct peaks peaks;
    bool have_peaks;
    struct gpu_capabilities gpus[GPU_MAX];
    int gpu_count, driver_version;
    char gpu_error[768]; /* "" where there are some */
    char driver_text[NVML_TEXT_BYTES], nvml_text[NVML_TEXT_BYTES], nvml_error[768];
    struct optional_library libraries[OPTIONAL_COUNT];
};

/* Negative only where nothing at all can be said. */
NODISCARD int capabilities_find(const struct settings *settings, struct capabilities *found,
                                struct err *err);
