#include "judge/judge_internal.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/paths.h"
#include "device/awake.h"
#include "judge/build/device_code.h"
#include "judge/gpu/probe.h"
#include "judge/process/standby_servers.h"
#include "judge/process/start.h"
#include "judge/request/external_language.h"

#include <glob.h>
#include <string.h>

/* What is found of GPUs is found when the first candidate wants one. */
static void prepare_gpus(struct judge *judge)
{
    const struct settings *settings = judge->options.settings;
    struct gpu_pool_options options = {.driver = judge_driver_library(judge),
                                       .nvml = settings->gpu_nvml[0] ? settings->gpu_nvml : NULL,
                                       .devices = settings->gpu_devices,
                                       .quarantine_ms = settings->gpu_quarantine_ms,
                                       .probe = judge_probe_gpu,
                                       .context = judge};
    gpu_pool_init(&judge->gpus, &options);
}

int judge_open(struct judge **judge, const struct judge_options *options, struct err *err)
{
    struct judge *made = mem_alloc(sizeof *made);
    struct err why = {0};
    int result = 0;
    made->options = *options;
    made->awake = awake_begin();
    prepare_gpus(made);
    pthread_mutex_init(&made->lock, NULL);
    busy_time_init(&made->cpu_busy);
    pthread_mutex_init(&made->work_lock, NULL);
    reference_cache_init(&made->references);
    made->weight_secret = clock_secret();
    made->root = paths_root();
    made->child_program = paths_side_program(err);
    result = external_load(&made->languages, &made->languages_arena,
                           options->settings->languages_path, err);
    if (result < 0)
        goto out;
    made->locks = made->child_program ? paths_lock_directory(err) : NULL;
    if (!made->child_program || !made->locks) {
        result = ERR_MISSING;
        goto out;
    }
    made->cache = paths_cache(options->settings->cache_directory, &why);
    if (!made->cache)
        log_write(LOG_LEVEL_WARN, "judge", "builds are not kept: %s", why.text);
    made->state = paths_state(&why);
    made->python_package = paths_python_package(&why);
    result = paths_python(options->settings->python_path, &made->python, err);
    if (result < 0 && options->settings->python_path[0])
        goto out;
    if (result < 0) /* WARPGYM_PYTHON, which stands in many a profile: torch problems will say so */
        made->python_problem = mem_strdup(err->text);
    char *bundled = mem_printf("%s/toolchain", made->root);
    toolchain_init(&made->toolchain, file_is_directory(bundled) ? bundled : NULL);
    mem_free(bundled);
    toolchain_find_nvrtc(&made->toolchain, options->settings->gpu_nvrtc, made->python);
    *judge = made;
    return 0;
out:
    judge_close(made);
    return result;
}

void judge_close(struct judge *judge)
{
    if (!judge)
        return;
    awake_end(judge->awake);
    reference_cache_deinit(&judge->references);
    for (int i = 0; i < judge->gpus.count; i++)
        for (size_t kind = 0; kind < SANDBOX_BUILD; kind++)
            warm_pool_close(judge->gpus.units[i].warm[kind]);
    standby_close(judge->native);
    standby_close(judge->torch);
    standby_close(judge->cuda);
    standby_close(judge->torch_cuda);
    standby_close(judge->nvrtc);
    gpu_pool_deinit(&judge->gpus);
    toolchain_deinit(&judge->toolchain);
    arena_deinit(&judge->languages_arena);
    pthread_mutex_destroy(&judge->lock);
    busy_time_deinit(&judge->cpu_busy);
    pthread_mutex_destroy(&judge->work_lock);
    mem_free(judge->root);
    mem_free(judge->cache);
    mem_free(judge->state);
    mem_free(judge->locks);
    mem_free(judge->child_program);
    mem_free(judge->python);
    mem_free(judge->python_problem);
    mem_free(judge->python_package);
    mem_free(judge->torch_paths);
    mem_free(judge->triton_paths);
    mem_free(judge);
}

/* A PyTorch beside that Python that has no CUDA in it: whether it is there shows in its libraries.
 * False as well where it lies somewhere else. */
static bool has_torch_without_cuda(const struct judge *judge)
{
    static const char pattern[] = "%.*s/../lib/python3*/site-packages/torch/lib/libtorch%s.so";
    const char *slash = judge->python ? strrchr(judge->python, '/') : NULL;
    bool found[2] = {false};
    for (int i = 0; slash && i < 2; i++) {
        glob_t matches;
        char *path = mem_printf(pattern, (int)(slash - judge->python), judge->python,
                                i ? "_cuda" : "_cpu");
        found[i] = glob(path, 0, NULL, &matches) == 0;
        globfree(&matches);
        mem_free(path);
    }
    return found[0] && !found[1];
}

bool judge_torch_on_gpu(struct judge *judge, const struct settings *settings, struct err *err)
{
    const char *device = settings->torch_device;
    if (strcmp(device, "cpu") == 0)
        return false;
    return gpu_pool_list(&judge->gpus, err) == 0 &&
           (strcmp(device, "cuda") == 0 || !has_torch_without_cuda(judge));
}

/* On which GPU the candidate will be is not known yet: the next one's processes are made ready, its
 * own and perhaps one for a reference. */
static void warm_gpu(struct judge *judge, enum sandbox_kind kind)
{
    struct gpu_unit *unit;
    struct err err;
    if (gpu_pool_take(&judge->gpus, NULL, &unit, &err) < 0)
        return;
    warm_pool_expect(judge_warm_pool(judge, unit, kind), 2);
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
    if (judge_standby(judge, kind, &ignored, &err) < 0)
        log_write(LOG_LEVEL_DEBUG, "judge", "no standby process: %s", err.text);
    if (kind == SANDBOX_TORCH_CUDA || kind == SANDBOX_CUDA)
        warm_gpu(judge, kind);
    judge_warm_nvrtc(judge);
}

int judge_peaks(struct judge *judge, struct peaks *peaks, struct err *err)
{
    int result = 0;
    pthread_mutex_lock(&judge->lock);
    if (!judge->have_peaks)
        result = peaks_get(&judge->peaks, judge->state, err);
    judge->have_peaks = result == 0;
    *peaks = judge->peaks;
    pthread_mutex_unlock(&judge->lock);
    return result;
}
