#include "judge/context.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/paths.h"
#include "device/awake.h"
#include "device/cupti.h"
#include "judge/request/external_language.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NATIVE_READY_MS 10000
#define TORCH_READY_MS 120000

static const char *driver_library(const struct judge *judge)
{
    const char *named = judge->options.settings->gpu_driver;
    return named[0] ? named : CUDA_LIBRARY;
}

/* What is found of GPUs is found when the first candidate wants one. */
static void prepare_gpus(struct judge *judge)
{
    const struct settings *settings = judge->options.settings;
    struct gpu_pool_options options = {.driver = driver_library(judge),
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

static int start_native(struct judge *judge, struct err *err)
{
    const char *argv[] = {judge->child_program, NULL};
    static const char *const environment[] = {NULL};
    return standby_open(&judge->native, argv, environment, NATIVE_READY_MS,
                        judge->options.cancelled, err);
}

#define ENVIRONMENT_MAX 24

/* A standby server's whole environment. */
struct environment {
    struct arena arena;
    const char *words[ENVIRONMENT_MAX];
    size_t count;
};

static void add(struct environment *environment, const char *word)
{
    if (environment->count + 1 < ENVIRONMENT_MAX)
        environment->words[environment->count++] = arena_strdup(&environment->arena, word);
}

static void add_value(struct environment *environment, const char *name, const char *value)
{
    add(environment, arena_printf(&environment->arena, "%s=%s", name, value));
}

static void add_gpus(struct environment *environment, const struct judge *judge)
{
    char *cupti = cupti_find(judge->toolchain.nvcc);
    add(environment, "CUDA_CACHE_DISABLE=1");
    add(environment,
        arena_printf(&environment->arena, "CUDA_INJECTION64_PATH=%s/build/libwarpgym_trace.so",
                     judge->root));
    if (cupti)
        add_value(environment, "WARPGYM_CUPTI", cupti);
    mem_free(cupti);
}

static int start_python(struct judge *judge, struct standby **standby, bool cuda, struct err *err)
{
    static const char *const words[] = {
        "LC_ALL=C.UTF-8",
        "HOME=" SANDBOX_SCRATCH,
        "TMPDIR=" SANDBOX_SCRATCH,
        "PATH=/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE=1",
        "PYTHONHASHSEED=0",
        "OPENBLAS_NUM_THREADS=1",
        "USER=nobody",
    };
    struct environment environment = {0};
    if (judge->python_problem)
        return err_set(err, ERR_MISSING, "%s", judge->python_problem);
    if (!judge->python || !judge->python_package)
        return err_set(err, ERR_MISSING,
                       "torch problems need a Python with PyTorch: run ./setup.sh, or set "
                       "WARPGYM_PYTHON to one");
    for (size_t i = 0; i < COUNT(words); i++)
        add(&environment, words[i]);
    add_value(&environment, "PYTHONPATH", judge->python_package);
    add(&environment,
        arena_printf(&environment.arena, "WARPGYM_CHILD_LIBRARY=%s/build/libwarpgym_child.so",
                     judge->root));
    if (cuda) {
        add_gpus(&environment, judge);
        add_value(&environment, "WARPGYM_CUDA", driver_library(judge));
        add(&environment, "TORCHINDUCTOR_COMPILE_THREADS=1"); /* it may start no processes */
    } else {
        add(&environment, "TRITON_INTERPRET=1");
    }
    const char *argv[] = {judge->python, "-s", "-W", "ignore", "-m", "warpgym.standby", NULL};
    int result = standby_open(standby, argv, environment.words, TORCH_READY_MS,
                              judge->options.cancelled, err);
    arena_deinit(&environment.arena);
    return result;
}

static int start_torch(struct judge *judge, struct err *err)
{
    return start_python(judge, &judge->torch, false, err);
}

static int start_torch_cuda(struct judge *judge, struct err *err)
{
    return start_python(judge, &judge->torch_cuda, true, err);
}

static int start_cuda(struct judge *judge, struct err *err)
{
    const char *argv[] = {judge->child_program, "--cuda", driver_library(judge), NULL};
    struct environment environment = {0};
    add_gpus(&environment, judge);
    int result = standby_open(&judge->cuda, argv, environment.words, NATIVE_READY_MS,
                              judge->options.cancelled, err);
    arena_deinit(&environment.arena);
    return result;
}

int judge_standby(struct judge *judge, enum sandbox_kind kind, struct standby **standby,
                  struct err *err)
{
    const struct {
        struct standby **server;
        int (*start)(struct judge *judge, struct err *err);
    } kinds[] = {
        [SANDBOX_NATIVE] = {&judge->native, start_native},
        [SANDBOX_TORCH] = {&judge->torch, start_torch},
        [SANDBOX_CUDA] = {&judge->cuda, start_cuda},
        [SANDBOX_TORCH_CUDA] = {&judge->torch_cuda, start_torch_cuda},
        [SANDBOX_BUILD] = {&judge->native, start_native},
        [SANDBOX_PROGRAM] = {&judge->native, start_native},
    };
    pthread_mutex_lock(&judge->lock);
    int result = *kinds[kind].server ? 0 : kinds[kind].start(judge, err);
    *standby = *kinds[kind].server;
    pthread_mutex_unlock(&judge->lock);
    return result;
}

const char *session_device(const struct session *session)
{
    return session->gpu ? session->gpu->facts.uuid : "cpu";
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

int session_threads(const struct session *session)
{
    struct cpu cpu;
    int64_t wanted = session->judge->options.settings->run_threads;
    if (wanted > 0)
        return (int)wanted;
    cpu_detect(&cpu);
    return cpu.cores;
}
