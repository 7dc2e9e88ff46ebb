#include "judge/capabilities.h"

#include "base/clock.h"
#include "base/file.h"
#include "device/nvrtc.h"
#include "judge/judge_internal.h"
#include "judge/numeric/stats.h"
#include "judge/request/external_language.h"
#include "judge/request/judge_settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SPAWNS 5
#define SPAWN_TIMEOUT_MS 10000

static void copy_text(char *into, size_t bytes, const char *text)
{
    snprintf(into, bytes, "%s", text ? text : "");
}

/* Starts sandboxed processes and leaves them; a child locks its sandbox itself, so layers are
 * complete only after an OPEN: try_layers. */
static int try_spawns(struct standby *standby, enum sandbox_kind kind,
                      const struct settings *settings, struct capabilities *found, double *start_ms,
                      struct err *err)
{
    const struct run_settings *run = run_settings(settings);
    struct sandbox *sandbox = mem_alloc(sizeof *sandbox);
    double times[SPAWNS];
    int result = 0;
    for (int i = 0; i < SPAWNS && result == 0; i++) {
        struct sandboxed process;
        uint64_t word = 0;
        struct err ignored;
        int64_t start_ns = clock_now_ns();
        sandbox_init(sandbox, kind);
        sandbox->memory_bytes = run->memory_bytes;
        sandbox->scratch_bytes = run->scratch_bytes;
        result = standby_spawn(standby, sandbox, SPAWN_TIMEOUT_MS, &process, err);
        times[i] = clock_ms_since(start_ns);
        if (result < 0)
            break;
        /* any mapped address of its program will do: its own, which fork keeps the same */
        found->can_read = sandboxed_read(&process, (uint64_t)(uintptr_t)&word, &word, sizeof word,
                                         &ignored) != ERR_UNSUPPORTED;
        found->layers |= process.layers;
        sandboxed_close(&process);
    }
    mem_free(sandbox);
    *start_ms = result == 0 ? stats_median(times, SPAWNS) : NAN;
    return result;
}

/* An artifact that is none: the child locks its sandbox, says so, and fails to load. With a scratch
 * of its own where sandboxes cannot mount one: spawner_start sees to that. */
static void try_layers(struct judge *judge, struct capabilities *found)
{
    struct wire_open open = {.type = WIRE_OPEN, .role = WIRE_CANDIDATE, .threads = 1};
    struct child child = {0};
    struct err err;
    int artifact = file_memory_from("nothing", "x", 1, &err);
    struct child_start start = {.message = &open,
                                .kind = CHILD_NATIVE,
                                .descriptors = &artifact,
                                .descriptor_count = 1,
                                .limit = {.ms = SPAWN_TIMEOUT_MS}};
    if (artifact >= 0 && spawner_start(&judge->spawner, NULL, SANDBOX_NATIVE, 0, &child, &start,
                                       NULL, &err) == ERR_INPUT)
        found->layers |= child.process.layers;
    if (artifact >= 0)
        child_close(&child);
}

static void try_torch(struct judge *judge, const struct settings *settings,
                      struct capabilities *found)
{
    struct standby *standby;
    struct err err = {0};
    int64_t start_ns = clock_now_ns();
    int result = spawner_standby(&judge->spawner, SANDBOX_TORCH, &standby, &err);
    if (result == 0)
        result = standby_ready(standby, &err);
    found->torch_load_ms = clock_ms_since(start_ns);
    if (result == 0)
        result = try_spawns(standby, SANDBOX_TORCH, settings, found, &found->torch_ms, &err);
    if (result < 0)
        copy_text(found->torch_error, sizeof found->torch_error, err.text);
}

/* Each is opened, and written to and read from. */
static void examine_gpus(struct judge *judge, struct capabilities *found)
{
    struct gpu_pool *pool = &judge->gpus;
    struct err err;
    optional_libraries_find(found->libraries, judge->toolchain.nvcc, judge->installation.python);
    if (gpu_pool_list(pool, &err) < 0) {
        memcpy(found->gpu_error, err.text, sizeof found->gpu_error);
        return;
    }
    found->driver_version = pool->driver_version;
    copy_text(found->driver_text, sizeof found->driver_text, pool->nvml.driver_text);
    copy_text(found->nvml_text, sizeof found->nvml_text, pool->nvml.text);
    copy_text(found->nvml_error, sizeof found->nvml_error, pool->no_nvml.text);
    for (int i = 0; i < pool->count; i++) {
        struct gpu_unit *unit = &pool->units[i];
        struct gpu_capabilities *gpu = &found->gpus[found->gpu_count++];
        gpu->facts = unit->facts;
        gpu_sensor_examine(&unit->sensor, &gpu->health); /* before it counts this process */
        if (gpu_pool_try(pool, unit, &err) < 0)
            copy_text(gpu->problem, sizeof gpu->problem, err.text);
        else
            (void)!gpu_peaks_recall(&gpu->peaks, gpu_unit_context(unit), judge->installation.state);
        gpu_sensor_read(&unit->sensor, &gpu->now);
    }
}

static void try_nvrtc(struct judge *judge, struct capabilities *found)
{
    struct standby *standby;
    struct nvrtc nvrtc;
    struct err err = {0};
    if (!judge->toolchain.nvrtc) {
        copy_text(found->nvrtc_error, sizeof found->nvrtc_error,
                  "no libnvrtc: install a CUDA toolkit or Python's nvidia-cuda-nvrtc, or set "
                  "gpu.nvrtc; without it nvcc compiles device-only kernels");
        return;
    }
    copy_text(found->nvrtc, sizeof found->nvrtc, judge->toolchain.nvrtc);
    int result = nvrtc_open(&nvrtc, judge->toolchain.nvrtc, &err);
    if (result == 0) {
        found->nvrtc_version = nvrtc.major * 1000 + nvrtc.minor;
        nvrtc_close(&nvrtc);
        result = spawner_nvrtc(&judge->spawner, &standby, &err);
    }
    if (result == 0)
        result = standby_ready(standby, &err);
    if (result < 0)
        copy_text(found->nvrtc_error, sizeof found->nvrtc_error, err.text);
}

static void list_languages(const struct languages *languages, struct capabilities *found)
{
    for (size_t i = 0; i < languages->count; i++) {
        struct language_capabilities *one = &found->languages[found->language_count++];
        copy_text(one->name, sizeof one->name, languages->rows[i].name);
        copy_text(one->program, sizeof one->program, languages->rows[i].external->run[0]);
    }
}

int capabilities_find(const struct settings *settings, struct capabilities *found, struct err *err)
{
    struct judge_options options = {.settings = settings};
    struct judge *judge;
    struct standby *standby;
    struct err why = {0};
    memset(found, 0, sizeof *found);
    int result = judge_open(&judge, &options, err);
    if (result < 0)
        return result;
    found->landlock_abi = sandbox_landlock_abi();
    copy_text(found->cc, sizeof found->cc, judge->toolchain.cc);
    copy_text(found->cc_version, sizeof found->cc_version, judge->toolchain.cc_version);
    copy_text(found->cxx, sizeof found->cxx, judge->toolchain.cxx);
    copy_text(found->cxx_version, sizeof found->cxx_version, judge->toolchain.cxx_version);
    copy_text(found->nvcc, sizeof found->nvcc, judge->toolchain.nvcc);
    copy_text(found->python, sizeof found->python, judge->installation.python);
    copy_text(found->cache, sizeof found->cache, judge->installation.cache);
    if (spawner_standby(&judge->spawner, SANDBOX_NATIVE, &standby, &why) < 0 ||
        try_spawns(standby, SANDBOX_NATIVE, settings, found, &found->native_ms, &why) < 0)
        copy_text(found->sandbox_error, sizeof found->sandbox_error, why.text);
    else
        try_layers(judge, found);
    list_languages(&judge->languages, found);
    try_torch(judge, settings, found);
    try_nvrtc(judge, found);
    found->awake = judge->awake >= 0;
    found->have_peaks = judge_peaks(judge, &found->peaks, &why) == 0;
    examine_gpus(judge, found);
    judge_close(judge);
    return 0;
}
