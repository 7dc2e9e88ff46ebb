#include "judge/judge_internal.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "device/awake.h"
#include "device/machine_load.h"
#include "judge/request/external_language.h"
#include "judge/request/judge_settings.h"

#include <glob.h>
#include <string.h>
#include <unistd.h>

static void give_up_gpu(void *context, struct gpu_unit *unit)
{
    for (size_t kind = 0; kind < SANDBOX_BUILD; kind++)
        warm_pool_drop(unit->warm[kind]); /* made before it failed, or while it did not work */
}

/* Cached references in a context that is about to be given up. */
static void clear_references(struct judge *judge, const struct gpu *facts)
{
    for (int i = 0; i < judge->gpus.count; i++) {
        const struct gpu_unit *unit = &judge->gpus.units[i];
        if (&unit->facts == facts && unit->opened)
            (void)reference_cache_clear(&judge->references, gpu_unit_context(unit));
    }
}

int judge_probe_gpu(void *context, const struct gpu *facts, struct err *err)
{
    struct judge *judge = context;
    clear_references(judge, facts);
    struct wire_open open = {.type = WIRE_OPEN,
                             .role = WIRE_CANDIDATE,
                             .threads = 1,
                             .gpu = spawner_wire_gpu(&judge->spawner, facts)};
    struct child child = {0};
    int nothing = file_memory_from("nothing", "x", 1, err);
    if (nothing < 0)
        return nothing;
    struct child_start start = {.message = &open,
                                .kind = CHILD_NATIVE,
                                .descriptors = &nothing,
                                .descriptor_count = 1,
                                .trusted = true,
                                .limit = time_limit_load(judge->options.settings),
                                .cancelled = judge->options.cancelled};
    int result = spawner_start(&judge->spawner, NULL, SANDBOX_CUDA, 0, &child, &start, NULL, err);
    bool worked = result == ERR_INPUT && child.failed.failure == FAILED_LOAD;
    child_close(&child);
    close(nothing);
    return worked ? 0 : result < 0 ? ERR_IO : err_set(err, ERR_INTERNAL, "it loaded nothing");
}

/* What is found of GPUs is found when the first candidate wants one. */
static void prepare_gpus(struct judge *judge)
{
    const struct settings *settings = judge->options.settings;
    const struct gpu_settings *gpu = gpu_settings(settings);
    struct gpu_pool_options options = {.driver = spawner_driver(settings),
                                       .nvml = gpu->nvml[0] ? gpu->nvml : NULL,
                                       .devices = gpu->devices,
                                       .quarantine_ms = gpu->quarantine_ms,
                                       .slots = (int)gpu->slots,
                                       .give_up = give_up_gpu,
                                       .probe = judge_probe_gpu,
                                       .context = judge};
    gpu_pool_init(&judge->gpus, &options);
}

int judge_open(struct judge **judge, const struct judge_options *options, struct err *err)
{
    struct judge *made = mem_alloc(sizeof *made);
    int result;
    made->options = *options;
    made->awake = awake_begin();
    if (gpu_settings(options->settings)->own_core)
        gpu_cores_keep(&made->gpu_cores, gpu_cores_wanted());
    prepare_gpus(made);
    made->spawner = (struct spawner){.settings = options->settings,
                                     .cancelled = options->cancelled,
                                     .installation = &made->installation,
                                     .toolchain = &made->toolchain,
                                     .gpus = &made->gpus};
    spawner_init(&made->spawner);
    made->tools = (struct build_tools){.settings = options->settings,
                                       .toolchain = &made->toolchain,
                                       .installation = &made->installation,
                                       .spawner = &made->spawner};
    build_tools_init(&made->tools);
    pthread_mutex_init(&made->lock, NULL);
    busy_time_init(&made->cpu_busy);
    reference_cache_init(&made->references);
    memory_plans_init(&made->plans);
    memory_gate_init(&made->memory, load_available_bytes);
    audits_init(&made->audits);
    made->weight_secret = clock_secret();
    result = external_load(&made->languages, &made->languages_arena,
                           languages_settings(options->settings)->path, err);
    if (result == 0)
        result = installation_find(&made->installation, options->settings, err);
    if (result < 0) {
        judge_close(made);
        return result;
    }
    char *bundled = mem_printf("%s/toolchain", made->installation.root);
    toolchain_init(&made->toolchain, file_is_directory(bundled) ? bundled : NULL);
    mem_free(bundled);
    toolchain_find_nvrtc(&made->toolchain, gpu_settings(options->settings)->nvrtc,
                         made->installation.python);
    *judge = made;
    return 0;
}

void judge_close(struct judge *judge)
{
    if (!judge)
        return;
    awake_end(judge->awake);
    reference_cache_deinit(&judge->references);
    memory_plans_deinit(&judge->plans);
    memory_gate_deinit(&judge->memory);
    audits_deinit(&judge->audits);
    for (int i = 0; i < judge->gpus.count; i++)
        for (size_t kind = 0; kind < SANDBOX_BUILD; kind++)
            warm_pool_close(judge->gpus.units[i].warm[kind]);
    spawner_deinit(&judge->spawner);
    gpu_pool_deinit(&judge->gpus);
    toolchain_deinit(&judge->toolchain);
    arena_deinit(&judge->languages_arena);
    pthread_mutex_destroy(&judge->lock);
    busy_time_deinit(&judge->cpu_busy);
    build_tools_deinit(&judge->tools);
    installation_deinit(&judge->installation);
    mem_free(judge);
}

/* A PyTorch beside that Python that has no CUDA in it: whether it is there shows in its libraries.
 * False as well where it lies somewhere else. */
static bool has_torch_without_cuda(const struct judge *judge)
{
    static const char pattern[] = "%.*s/../lib/python3*/site-packages/torch/lib/libtorch%s.so";
    const char *slash = judge->installation.python ? strrchr(judge->installation.python, '/')
                                                   : NULL;
    bool found[2] = {false};
    for (int i = 0; slash && i < 2; i++) {
        glob_t matches;
        char *path = mem_printf(pattern, (int)(slash - judge->installation.python),
                                judge->installation.python, i ? "_cuda" : "_cpu");
        found[i] = glob(path, 0, NULL, &matches) == 0;
        globfree(&matches);
        mem_free(path);
    }
    return found[0] && !found[1];
}

bool judge_torch_on_gpu(struct judge *judge, const struct settings *settings, struct err *err)
{
    enum torch_device device = torch_settings(settings)->device;
    if (device == TORCH_CPU)
        return false;
    return gpu_pool_list(&judge->gpus, err) == 0 &&
           (device == TORCH_CUDA || !has_torch_without_cuda(judge));
}

/* On which GPU the candidate will be is not known yet: the next one's processes are made ready, its
 * own and perhaps one for a reference. */
static void warm_gpu(struct judge *judge, enum sandbox_kind kind)
{
    struct gpu_unit *unit;
    struct err err;
    if (gpu_pool_take(&judge->gpus, NULL, &unit, &err) < 0)
        return;
    warm_pool_expect(spawner_warm_pool(&judge->spawner, unit, kind), 2);
    gpu_pool_give_back(&judge->gpus, unit);
}

/* Where a candidate of that name will run. */
static enum sandbox_kind kind_of(struct judge *judge, enum problem_format format, const char *path)
{
    struct err ignored;
    if (format == PROBLEM_TORCH)
        return judge_torch_on_gpu(judge, judge->options.settings, &ignored) ? SANDBOX_TORCH_CUDA
                                                                            : SANDBOX_TORCH;
    return language_of(&judge->languages, path, "")->gpu &&
                   gpu_pool_list(&judge->gpus, &ignored) == 0
               ? SANDBOX_CUDA
               : SANDBOX_NATIVE;
}

void judge_warm(struct judge *judge, enum problem_format format, const char *path)
{
    struct standby *ignored;
    struct err err;
    enum sandbox_kind kind = kind_of(judge, format, path);
    if (spawner_standby(&judge->spawner, kind, &ignored, &err) < 0)
        log_write(LOG_LEVEL_DEBUG, "judge", "no standby server: %s", err.text);
    if (kind == SANDBOX_TORCH_CUDA || kind == SANDBOX_CUDA)
        warm_gpu(judge, kind);
    spawner_warm_nvrtc(&judge->spawner);
}

int judge_peaks(struct judge *judge, struct peaks *peaks, struct err *err)
{
    int result = 0;
    pthread_mutex_lock(&judge->lock);
    if (!judge->have_peaks)
        result = peaks_get(&judge->peaks, judge->installation.state, err);
    judge->have_peaks = result == 0;
    *peaks = judge->peaks;
    pthread_mutex_unlock(&judge->lock);
    return result;
}
