#include "judge/context.h"

#include "base/file.h"
#include "base/log.h"
#include "base/paths.h"
#include "device/awake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NATIVE_READY_MS 10000
#define TORCH_READY_MS 120000

int judge_open(struct judge **judge, const struct judge_options *options, struct err *err)
{
    struct judge *made = mem_alloc(sizeof *made);
    struct err why = {0};
    int result = 0;
    made->options = *options;
    made->awake = awake_begin();
    pthread_mutex_init(&made->lock, NULL);
    made->root = paths_root();
    made->side_program = paths_side_program(err);
    made->locks = made->side_program ? paths_lock_directory(err) : NULL;
    if (!made->side_program || !made->locks) {
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
    standby_close(judge->native);
    standby_close(judge->torch);
    standby_close(judge->cuda);
    gpu_context_close(&judge->gpu);
    toolchain_deinit(&judge->toolchain);
    pthread_mutex_destroy(&judge->lock);
    mem_free(judge->root);
    mem_free(judge->cache);
    mem_free(judge->state);
    mem_free(judge->locks);
    mem_free(judge->side_program);
    mem_free(judge->python);
    mem_free(judge->python_problem);
    mem_free(judge->python_package);
    mem_free(judge->torch_place);
    mem_free(judge);
}

static int start_native(struct judge *judge, struct err *err)
{
    const char *argv[] = {judge->side_program, NULL};
    static const char *const environment[] = {NULL};
    return standby_open(&judge->native, argv, environment, NATIVE_READY_MS,
                        judge->options.cancelled, err);
}

static int start_torch(struct judge *judge, struct err *err)
{
    if (judge->python_problem)
        return err_set(err, ERR_MISSING, "%s", judge->python_problem);
    if (!judge->python || !judge->python_package)
        return err_set(err, ERR_MISSING,
                       "torch problems need a Python with PyTorch: run ./setup.sh, or set "
                       "WARPGYM_PYTHON to one");
    char *path = mem_printf("PYTHONPATH=%s", judge->python_package);
    char *library = mem_printf("WARPGYM_SIDE_LIBRARY=%s/build/libwarpgym_side.so", judge->root);
    const char *argv[] = {judge->python, "-s", "-W", "ignore", "-m", "warpgym.standby", NULL};
    const char *environment[] = {path,
                                 library,
                                 "LC_ALL=C.UTF-8",
                                 ("HOME=" BOX_SCRATCH),
                                 ("TMPDIR=" BOX_SCRATCH),
                                 "PATH=/usr/bin:/bin",
                                 "TRITON_INTERPRET=1",
                                 "PYTHONDONTWRITEBYTECODE=1",
                                 "PYTHONHASHSEED=0",
                                 "OPENBLAS_NUM_THREADS=1",
                                 "USER=nobody",
                                 NULL};
    int result = standby_open(&judge->torch, argv, environment, TORCH_READY_MS,
                              judge->options.cancelled, err);
    mem_free(path);
    mem_free(library);
    return result;
}

static const char *driver_library(const struct judge *judge)
{
    const char *named = judge->options.settings->gpu_driver;
    return named[0] ? named : CUDA_LIBRARY;
}

static int start_cuda(struct judge *judge, struct err *err)
{
    static const char *const forwarded[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"};
    const char *argv[] = {judge->side_program, "--cuda", driver_library(judge), NULL};
    const char *environment[4] = {"CUDA_CACHE_DISABLE=1"};
    char *copies[2] = {NULL};
    size_t count = 1;
    for (size_t i = 0; i < 2; i++)
        if (getenv(forwarded[i]))
            environment[count++] = copies[i] = mem_printf("%s=%s", forwarded[i],
                                                          getenv(forwarded[i]));
    int result = standby_open(&judge->cuda, argv, environment, NATIVE_READY_MS,
                              judge->options.cancelled, err);
    for (size_t i = 0; i < 2; i++)
        mem_free(copies[i]);
    return result;
}

int judge_standby(struct judge *judge, enum box_kind kind, struct standby **standby,
                  struct err *err)
{
    const struct {
        struct standby **server;
        int (*start)(struct judge *judge, struct err *err);
    } kinds[] = {
        [BOX_NATIVE] = {&judge->native, start_native},
        [BOX_TORCH] = {&judge->torch, start_torch},
        [BOX_CUDA] = {&judge->cuda, start_cuda},
        [BOX_BUILD] = {&judge->native, start_native},
    };
    pthread_mutex_lock(&judge->lock);
    int result = *kinds[kind].server ? 0 : kinds[kind].start(judge, err);
    *standby = *kinds[kind].server;
    pthread_mutex_unlock(&judge->lock);
    return result;
}

int judge_gpu(struct judge *judge, const struct gpu_context **gpu, struct err *err)
{
    pthread_mutex_lock(&judge->lock);
    if (!judge->gpu_tried)
        (void)!gpu_context_open(&judge->gpu, driver_library(judge),
                                (int)judge->options.settings->gpu_ordinal, &judge->gpu_problem);
    judge->gpu_tried = true;
    bool open = judge->gpu.open;
    pthread_mutex_unlock(&judge->lock);
    *gpu = &judge->gpu;
    if (open)
        return 0;
    *err = judge->gpu_problem;
    return err->code;
}

const char *session_device(const struct session *session)
{
    return session->gpu ? session->gpu->facts.uuid : "cpu";
}

void judge_warm(struct judge *judge, enum problem_format format)
{
    struct standby *ignored;
    struct err err;
    enum box_kind kind = format == PROBLEM_TORCH ? BOX_TORCH : BOX_NATIVE;
    if (judge_standby(judge, kind, &ignored, &err) < 0)
        log_write(LOG_LEVEL_DEBUG, "judge", "no standby process: %s", err.text);
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
