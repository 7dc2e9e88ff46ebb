#include "judge/process/spawner.h"

#include "base/array.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/paths.h"
#include "device/cuda.h"
#include "device/cupti.h"
#include "device/machine_load.h"
#include "judge/child/blocks.h"
#include "judge/process/external_program.h"
#include "judge/request/judge_settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NATIVE_READY_MS 10000
#define TORCH_READY_MS 120000
#define NVRTC_READY_MS 60000 /* 140 MB from a disk that has not read them for a while */
#define PROBE_TIMEOUT_MS 10000

const char *spawner_driver(const struct settings *settings)
{
    const struct gpu_settings *gpu = gpu_settings(settings);
    return gpu->driver[0] ? gpu->driver : CUDA_LIBRARY;
}

void spawner_init(struct spawner *spawner)
{
    pthread_mutex_init(&spawner->lock, NULL);
}

void spawner_deinit(struct spawner *spawner)
{
    for (size_t i = 0; i < SERVER_COUNT; i++)
        standby_close(spawner->servers[i]);
    pthread_mutex_destroy(&spawner->lock);
}

#define ENVIRONMENT_MAX 24

/* A standby server's whole environment. */
struct environment {
    struct arena arena; /* of words that are made for it */
    const char *words[ENVIRONMENT_MAX];
    size_t count;
};

static void add_word(struct environment *environment, const char *word)
{
    if (environment->count + 1 < ENVIRONMENT_MAX)
        environment->words[environment->count++] = word;
}

static void add_value(struct environment *environment, const char *name, const char *value)
{
    add_word(environment, arena_printf(&environment->arena, "%s=%s", name, value));
}

static void add_gpus(struct environment *environment, const struct spawner *spawner)
{
    char *cupti = cupti_find(spawner->toolchain->nvcc);
    add_word(environment, "CUDA_CACHE_DISABLE=1");
    add_word(environment,
             arena_printf(&environment->arena, "CUDA_INJECTION64_PATH=%s/build/libwarpgym_trace.so",
                          spawner->installation->root));
    if (cupti)
        add_value(environment, "WARPGYM_CUPTI", cupti);
    mem_free(cupti);
}

/* Memory that a call has freed stays the process's, and lies in large pages (large tensors:
 * tensor_memory.h). By itself the C library decides from what a process frees, and the reference's
 * frees inputs, too: then candidates fault on pages where it does not. Which small pages a process
 * gets is worth 15 % of a call. */
#define MALLOC_TUNABLES                                                                            \
    "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=33554432:"                                         \
    "glibc.malloc.trim_threshold=1073741824:glibc.malloc.hugetlb=1"

static int add_python(struct environment *environment, const struct spawner *spawner, bool cuda,
                      struct err *err)
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
        MALLOC_TUNABLES,
    };
    const struct installation *installation = spawner->installation;
    if (installation->python_problem)
        return err_set(err, ERR_MISSING, "%s", installation->python_problem);
    if (!installation->python || !installation->python_package)
        return err_set(err, ERR_MISSING,
                       "torch problems need a Python with PyTorch: run `pip install torch` (in a "
                       "checkout ./setup.sh), or set WARPGYM_PYTHON to one");
    for (size_t i = 0; i < COUNT(words); i++)
        add_word(environment, words[i]);
    add_word(environment, paths_python_user_base(&environment->arena));
    add_value(environment, "PYTHONPATH", installation->python_package);
    add_word(environment,
             arena_printf(&environment->arena, "WARPGYM_CHILD_LIBRARY=%s/build/libwarpgym_child.so",
                          installation->root));
    if (cuda) {
        add_value(environment, "WARPGYM_CUDA", spawner_driver(spawner->settings));
        add_word(environment, "TORCHINDUCTOR_COMPILE_THREADS=1"); /* it may start no processes */
    } else {
        add_word(environment, "TRITON_INTERPRET=1");
    }
    return 0;
}

static const struct {
    const char *name;
    bool python; /* else it is warpgym-child */
    bool cuda;
    const char *option; /* of warpgym-child, before a library; NULL: none */
    int64_t start_ms;
} servers[] = {
    [SERVER_NATIVE] = {"native", false, false, NULL, NATIVE_READY_MS},
    [SERVER_TORCH] = {"torch", true, false, NULL, TORCH_READY_MS},
    [SERVER_CUDA] = {"cuda", false, true, "--cuda", NATIVE_READY_MS},
    [SERVER_TORCH_CUDA] = {"torch_cuda", true, true, NULL, TORCH_READY_MS},
    [SERVER_NVRTC] = {"nvrtc", false, false, "--nvrtc", NVRTC_READY_MS},
};

static int start_server(struct spawner *spawner, enum server_kind kind, struct err *err)
{
    bool cuda = servers[kind].cuda;
    struct environment environment = {0};
    const char *library = cuda ? spawner_driver(spawner->settings) : spawner->toolchain->nvrtc;
    const char *child[] = {spawner->installation->child_program, servers[kind].option, library,
                           NULL};
    const char *python[] = {
        spawner->installation->python, "-W", "ignore", "-m", "warpgym.standby", NULL};
    int result = servers[kind].python ? add_python(&environment, spawner, cuda, err) : 0;
    if (cuda)
        add_gpus(&environment, spawner);
    if (result == 0)
        result = standby_open(&spawner->servers[kind], servers[kind].python ? python : child,
                              environment.words, servers[kind].start_ms, spawner->cancelled, err);
    arena_deinit(&environment.arena);
    return result;
}

static int get_server(struct spawner *spawner, enum server_kind kind, struct standby **standby,
                      struct err *err)
{
    pthread_mutex_lock(&spawner->lock);
    int result = spawner->servers[kind] ? 0 : start_server(spawner, kind, err);
    *standby = spawner->servers[kind];
    pthread_mutex_unlock(&spawner->lock);
    return result;
}

int spawner_standby(struct spawner *spawner, enum sandbox_kind kind, struct standby **standby,
                    struct err *err)
{
    static const enum server_kind of[] = {
        [SANDBOX_NATIVE] = SERVER_NATIVE, [SANDBOX_TORCH] = SERVER_TORCH,
        [SANDBOX_CUDA] = SERVER_CUDA,     [SANDBOX_TORCH_CUDA] = SERVER_TORCH_CUDA,
        [SANDBOX_BUILD] = SERVER_NATIVE,  [SANDBOX_PROGRAM] = SERVER_NATIVE,
    };
    return get_server(spawner, of[kind], standby, err);
}

int spawner_nvrtc(struct spawner *spawner, struct standby **standby, struct err *err)
{
    *standby = NULL;
    return spawner->toolchain->nvrtc ? get_server(spawner, SERVER_NVRTC, standby, err) : 0;
}

void spawner_warm_nvrtc(struct spawner *spawner)
{
    struct standby *ignored;
    struct err err;
    bool gpu = access(SANDBOX_GPU_CONTROL, F_OK) == 0 || gpu_settings(spawner->settings)->driver[0];
    if (gpu && spawner_nvrtc(spawner, &ignored, &err) < 0)
        log_write(LOG_LEVEL_DEBUG, "judge", "no NVRTC: %s", err.text);
}

const char *spawner_server(struct spawner *spawner, enum server_kind kind, struct standby **server)
{
    pthread_mutex_lock(&spawner->lock);
    *server = spawner->servers[kind];
    pthread_mutex_unlock(&spawner->lock);
    return servers[kind].name;
}

/* For a sandbox that cannot mount memory: a directory that its process may write to. */
static int make_scratch(struct sandbox *sandbox, struct err *err)
{
    const char *place = getenv("TMPDIR");
    snprintf(sandbox->scratch, sizeof sandbox->scratch, "%s/warpgym-child-XXXXXX",
             place && place[0] == '/' && strlen(place) < 400 ? place : "/tmp");
    if (!mkdtemp(sandbox->scratch)) {
        int result = err_sys(err, errno, "%s: cannot create a scratch directory", sandbox->scratch);
        sandbox->scratch[0] = '\0';
        return result;
    }
    if (geteuid() == 0 && chown(sandbox->scratch, SANDBOX_NOBODY, SANDBOX_NOBODY) < 0)
        return err_sys(err, errno, "%s: cannot hand it to the sandbox", sandbox->scratch);
    return 0;
}

static int try_start(struct spawner *spawner, struct sandbox *sandbox, struct child *child,
                     struct child_start *start, struct wire_opened *opened, struct err *err)
{
    sandbox->scratch[0] = '\0';
    int result = spawner->no_own_root ? make_scratch(sandbox, err) : 0;
    if (result == 0) {
        result = child_open(child, start, opened, err);
    } else if (start->process) {
        struct sandboxed unused = *start->process;
        sandboxed_close(&unused);
    }
    if (sandbox->scratch[0] && !child->scratch)
        file_remove_tree(sandbox->scratch);
    return result;
}

/* Where a reference may take what there is, that. */
static uint64_t memory_for(const struct spawner *spawner, uint64_t problem_memory)
{
    return problem_memory == SPAWNER_ALL
               ? load_available_bytes()
               : run_settings(spawner->settings)->memory_bytes + problem_memory;
}

static void make_sandbox(struct spawner *spawner, const struct gpu_unit *unit,
                         enum sandbox_kind kind, uint64_t problem_memory, struct sandbox *sandbox)
{
    bool gpu = sandbox_has_gpu(kind);
    uint64_t memory_bytes = memory_for(spawner, problem_memory);
    const char *driver = gpu ? gpu_pool_directory(spawner->gpus) : "";
    int minor = gpu && unit ? gpu_sensor_minor(&unit->sensor) : -1;
    sandbox_init(sandbox, kind);
    sandbox->scratch_bytes = run_settings(spawner->settings)->scratch_bytes;
    sandbox->memory_bytes = gpu ? 0 : memory_bytes; /* a driver reserves more than any limit */
    if (kind == SANDBOX_TORCH)
        sandbox->memory_bytes += BLOCKS_KEPT_BYTES; /* which it may hold without using them */
    sandbox->gpu = minor;
    sandbox->output = true;
    sandbox_allow(sandbox, driver);
}

struct wire_gpu spawner_wire_gpu(const struct spawner *spawner, const struct gpu *facts)
{
    struct wire_gpu gpu = {.queues = (uint32_t)gpu_settings(spawner->settings)->queues};
    if (facts)
        snprintf(gpu.uuid, sizeof gpu.uuid, "%s", facts->uuid);
    return gpu;
}

struct warm_pool *spawner_warm_pool(struct spawner *spawner, struct gpu_unit *unit,
                                    enum sandbox_kind kind)
{
    struct err err;
    struct warm_pool_options options = {
        .processes = (uint32_t)gpu_settings(spawner->settings)->processes,
        .busy = unit ? &unit->slots_used : NULL,
    };
    if (!unit || options.processes == 0 || spawner->no_own_root ||
        spawner_standby(spawner, kind, &options.standby, &err) < 0)
        return NULL;
    struct sandbox *sandbox = mem_alloc(sizeof *sandbox);
    make_sandbox(spawner, unit, kind, 0, sandbox);
    options.sandbox = sandbox;
    options.gpu = spawner_wire_gpu(spawner, &unit->facts);
    pthread_mutex_lock(&spawner->lock);
    if (!unit->warm[kind] && warm_pool_open(&unit->warm[kind], &options, &err) < 0)
        log_write(LOG_LEVEL_WARN, "judge", "no processes stand ready: %s", err.text);
    struct warm_pool *pool = unit->warm[kind];
    pthread_mutex_unlock(&spawner->lock);
    mem_free(sandbox);
    return pool;
}

void spawner_reserve(struct spawner *spawner, struct gpu_unit *unit,
                     struct spawner_reserve *reserve, uint32_t processes,
                     const _Atomic int *cancelled)
{
    struct warm_pool *pool = spawner_warm_pool(spawner, unit, reserve->kind);
    while (pool && reserve->count < processes &&
           warm_pool_take(pool, cancelled, &reserve->processes[reserve->count]))
        reserve->count++;
}

const struct sandboxed *spawner_take_reserved(struct spawner_reserve *reserve)
{
    return reserve->count > 0 ? &reserve->processes[--reserve->count] : NULL;
}

void spawner_release(struct spawner_reserve *reserve)
{
    while (reserve->count > 0)
        sandboxed_close(&reserve->processes[--reserve->count]);
}

int spawner_start(struct spawner *spawner, struct gpu_unit *unit, enum sandbox_kind kind,
                  uint64_t problem_memory, struct child *child, struct child_start *start,
                  struct wire_opened *opened, struct err *err)
{
    struct sandbox *sandbox = mem_alloc(sizeof *sandbox);
    struct sandboxed process;
    struct warm_pool *pool = start->process ? NULL : spawner_warm_pool(spawner, unit, kind);
    make_sandbox(spawner, unit, kind, problem_memory, sandbox);
    for (const char *const *path = start->program ? start->program->readable : NULL; path && *path;
         path++)
        sandbox_allow(sandbox, *path);
    if (start->process)
        process = *start->process;
    if (start->process || (pool && warm_pool_take(pool, start->cancelled, &process)))
        start->process = &process;
    int result = start->standby ? 0 : spawner_standby(spawner, kind, &start->standby, err);
    if (result == 0)
        result = standby_ready(start->standby, err);
    start->sandbox = sandbox;
    if (sandbox_has_gpu(sandbox->kind) && start->message->role == WIRE_CANDIDATE)
        start->memory_bytes = memory_for(spawner, problem_memory); /* memory_watch.c instead */
    if (result == 0) {
        bool own_root = !spawner->no_own_root; /* another thread may find out meanwhile */
        result = try_start(spawner, sandbox, child, start, opened, err);
        if (result == ERR_MISSING && own_root) {
            child_close(child);
            spawner->no_own_root = true;
            start->process = NULL;
            result = try_start(spawner, sandbox, child, start, opened, err);
        }
    } else if (start->process) {
        sandboxed_close(&process);
    }
    start->process = NULL;
    mem_free(sandbox);
    return result;
}

int spawner_probe(struct spawner *spawner, struct standby *standby, struct err *err)
{
    struct sandboxed process;
    if (!spawner->toolchain->root || spawner->probed)
        return 0;
    struct sandbox *sandbox = mem_alloc(sizeof *sandbox);
    sandbox_init(sandbox, SANDBOX_NATIVE);
    int result = standby_spawn(standby, sandbox, PROBE_TIMEOUT_MS, &process, err);
    if (result == 0) {
        spawner->no_own_root = !(process.layers >> LAYER_MOUNT & 1);
        spawner->probed = true;
        sandboxed_close(&process);
    }
    mem_free(sandbox);
    return result;
}
