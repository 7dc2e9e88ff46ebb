#include "judge/process/standby_servers.h"

#include "base/array.h"
#include "base/mem.h"
#include "device/cuda.h"
#include "device/cupti.h"
#include "judge/judge_internal.h"

#define NATIVE_READY_MS 10000
#define TORCH_READY_MS 120000

const char *judge_driver_library(const struct judge *judge)
{
    const char *named = judge->options.settings->gpu_driver;
    return named[0] ? named : CUDA_LIBRARY;
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

static void add_word(struct environment *environment, const char *word)
{
    if (environment->count + 1 < ENVIRONMENT_MAX)
        environment->words[environment->count++] = arena_strdup(&environment->arena, word);
}

static void add_value(struct environment *environment, const char *name, const char *value)
{
    add_word(environment, arena_printf(&environment->arena, "%s=%s", name, value));
}

static void add_gpus(struct environment *environment, const struct judge *judge)
{
    char *cupti = cupti_find(judge->toolchain.nvcc);
    add_word(environment, "CUDA_CACHE_DISABLE=1");
    add_word(environment,
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
        add_word(&environment, words[i]);
    add_value(&environment, "PYTHONPATH", judge->python_package);
    add_word(&environment,
             arena_printf(&environment.arena, "WARPGYM_CHILD_LIBRARY=%s/build/libwarpgym_child.so",
                          judge->root));
    if (cuda) {
        add_gpus(&environment, judge);
        add_value(&environment, "WARPGYM_CUDA", judge_driver_library(judge));
        add_word(&environment, "TORCHINDUCTOR_COMPILE_THREADS=1"); /* it may start no processes */
    } else {
        add_word(&environment, "TRITON_INTERPRET=1");
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
    const char *argv[] = {judge->child_program, "--cuda", judge_driver_library(judge), NULL};
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
