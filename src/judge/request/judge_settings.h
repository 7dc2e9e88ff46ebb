/* judge_settings: the sections that say how candidates are built, run, checked and timed. */
#pragma once

#include "base/settings.h"
#include "base/word_table.h"
#include "problem/bound.h"

struct cache_settings {
    const char *directory;
    uint64_t max_bytes;
};
SETTINGS_OF(cache)

struct compile_settings {
    int64_t timeout_ms, total_ms;
    int64_t max_builds;
    uint64_t memory_bytes, output_bytes;
};
SETTINGS_OF(compile)

struct run_settings {
    int64_t timeout_ms, first_call_timeout_ms, load_timeout_ms;
    uint64_t memory_bytes, scratch_bytes;
    struct optional_int threads;
};
SETTINGS_OF(run)

struct check_settings {
    int64_t trials;
    const char *tolerance; /* bound.h; "": the problem's */
    uint64_t output_bytes;
};
SETTINGS_OF(check)

#define AUDIT_ACTIONS(X) X(AUDIT_WARN, "warn") X(AUDIT_REFUSE, "refuse")
enum audit_action { WORD_SYMBOLS(AUDIT_ACTIONS) };

struct audit_settings {
    int64_t budget_ms;
    enum audit_action gameable;
};
SETTINGS_OF(audit)

struct timing_settings {
    double target, gpu_target, widest, run_to_run;
    int64_t budget_ms, gpu_budget_ms;
    int64_t min_samples, max_samples;
    double stop_slower;
};
SETTINGS_OF(timing)

struct gpu_settings {
    const char *devices; /* "all", or a list */
    int64_t quarantine_ms, processes, slots, queues;
    bool own_core;
    const char *driver, *nvml, *nvrtc; /* libraries; "": auto */
};
SETTINGS_OF(gpu)

#define TORCH_DEVICES(X) X(TORCH_AUTO_DEVICE, "auto") X(TORCH_CPU, "cpu") X(TORCH_CUDA, "cuda")
enum torch_device { WORD_SYMBOLS(TORCH_DEVICES) };

/* PyTorch's modes, and none. */
#define TORCH_COMPILE_MODES(X)                                                                     \
    X(TORCH_EAGER, "none")                                                                         \
    X(TORCH_COMPILE_DEFAULT, "default")                                                            \
    X(TORCH_REDUCE_OVERHEAD, "reduce-overhead")                                                    \
    X(TORCH_MAX_AUTOTUNE, "max-autotune")                                                          \
    X(TORCH_MAX_AUTOTUNE_NO_CUDAGRAPHS, "max-autotune-no-cudagraphs")
enum torch_compile_mode { WORD_SYMBOLS(TORCH_COMPILE_MODES) };

struct torch_settings {
    enum torch_device device;
    enum torch_precision precision;
    enum torch_compile_mode compile;
};
SETTINGS_OF(torch)

struct python_settings {
    const char *path; /* "": auto */
};
SETTINGS_OF(python)

struct languages_settings {
    const char *path; /* directories, separated by colons */
};
SETTINGS_OF(languages)
