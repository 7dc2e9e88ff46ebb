#include "judge/process/start.h"

#include "base/file.h"
#include "base/log.h"
#include "judge/judge_internal.h"
#include "judge/process/external_program.h"
#include "judge/process/standby_servers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROBE_TIMEOUT_MS 10000

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

static int try_start(struct judge *judge, struct sandbox *sandbox, struct child *child,
                     struct child_start *start, struct wire_opened *opened,
                     int opened_descriptors[WIRE_DESCRIPTORS], struct err *err)
{
    sandbox->scratch[0] = '\0';
    int result = judge->no_own_root ? make_scratch(sandbox, err) : 0;
    if (result == 0) {
        result = child_open(child, start, opened, opened_descriptors, err);
    } else if (start->process) {
        struct sandboxed unused = *start->process;
        sandboxed_close(&unused);
    }
    if (sandbox->scratch[0] && !child->scratch)
        file_remove_tree(sandbox->scratch);
    return result;
}

/* three: slot, oracle (twice the size for f32), as much again to work in */
static uint64_t memory_for(const struct judge *judge, uint64_t arguments_bytes)
{
    return judge->options.settings->run_memory_bytes + 3 * arguments_bytes;
}

static void make_sandbox(struct judge *judge, const struct gpu_unit *unit, enum sandbox_kind kind,
                         uint64_t arguments_bytes, struct sandbox *sandbox)
{
    const struct settings *settings = judge->options.settings;
    sandbox_init(sandbox, kind);
    sandbox->memory_bytes = memory_for(judge, arguments_bytes);
    if (sandbox_has_gpu(sandbox)) {
        sandbox->memory_bytes =
            0; /* the driver reserves more addresses than any limit would allow */
        sandbox_allow(sandbox, gpu_pool_directory(&judge->gpus));
        sandbox->gpu = unit ? gpu_sensor_minor(&unit->sensor) : -1;
    }
    sandbox->scratch_bytes = settings->run_scratch_bytes;
}

struct wire_gpu judge_wire_gpu(const struct judge *judge, const struct gpu *facts)
{
    struct wire_gpu gpu = {.queues = (uint32_t)judge->options.settings->gpu_queues};
    if (facts)
        snprintf(gpu.uuid, sizeof gpu.uuid, "%s", facts->uuid);
    return gpu;
}

struct warm_pool *judge_warm_pool(struct judge *judge, struct gpu_unit *unit,
                                  enum sandbox_kind kind)
{
    struct err err;
    struct warm_pool_options options = {
        .processes = (uint32_t)judge->options.settings->gpu_processes,
        .busy = unit ? &unit->slots_used : NULL,
    };
    if (!unit || options.processes == 0 || judge->no_own_root ||
        judge_standby(judge, kind, &options.standby, &err) < 0)
        return NULL;
    struct sandbox *sandbox = mem_alloc(sizeof *sandbox);
    make_sandbox(judge, unit, kind, 0, sandbox);
    options.sandbox = sandbox;
    options.gpu = judge_wire_gpu(judge, &unit->facts);
    pthread_mutex_lock(&judge->lock);
    if (!unit->warm[kind] && warm_pool_open(&unit->warm[kind], &options, &err) < 0)
        log_write(LOG_LEVEL_WARN, "judge", "no processes stand ready: %s", err.text);
    struct warm_pool *pool = unit->warm[kind];
    pthread_mutex_unlock(&judge->lock);
    mem_free(sandbox);
    return pool;
}

int judge_start_child(struct judge *judge, struct gpu_unit *unit, enum sandbox_kind kind,
                      uint64_t arguments_bytes, struct child *child, struct child_start *start,
                      struct wire_opened *opened, int opened_descriptors[WIRE_DESCRIPTORS],
                      struct err *err)
{
    struct sandbox *sandbox = mem_alloc(sizeof *sandbox);
    struct sandboxed process;
    struct warm_pool *pool = start->process ? NULL : judge_warm_pool(judge, unit, kind);
    make_sandbox(judge, unit, kind, arguments_bytes, sandbox);
    for (const char *const *path = start->program ? start->program->readable : NULL; path && *path;
         path++)
        sandbox_allow(sandbox, *path);
    if (start->process)
        process = *start->process;
    if (start->process || (pool && warm_pool_take(pool, start->cancelled, &process)))
        start->process = &process;
    int result = judge_standby(judge, kind, &start->standby, err);
    if (result == 0)
        result = standby_ready(start->standby, err);
    start->sandbox = sandbox;
    if (sandbox_has_gpu(sandbox) && start->message->role == WIRE_CANDIDATE)
        start->memory_bytes = memory_for(judge, arguments_bytes); /* memory_limit.c instead */
    if (result == 0) {
        bool own_root = !judge->no_own_root; /* another thread may find out meanwhile */
        result = try_start(judge, sandbox, child, start, opened, opened_descriptors, err);
        if (result == ERR_MISSING && own_root) {
            child_close(child);
            judge->no_own_root = true;
            start->process = NULL;
            result = try_start(judge, sandbox, child, start, opened, opened_descriptors, err);
        }
    } else if (start->process) {
        sandboxed_close(&process);
    }
    start->process = NULL;
    mem_free(sandbox);
    return result;
}

int judge_probe_sandbox(struct judge *judge, struct standby *standby, struct err *err)
{
    struct sandboxed process;
    if (!judge->toolchain.root || judge->probed)
        return 0;
    struct sandbox *sandbox = mem_alloc(sizeof *sandbox);
    sandbox_init(sandbox, SANDBOX_NATIVE);
    int result = standby_spawn(standby, sandbox, PROBE_TIMEOUT_MS, &process, err);
    if (result == 0) {
        judge->no_own_root = !(process.layers >> LAYER_MOUNT & 1);
        judge->probed = true;
        sandboxed_close(&process);
    }
    mem_free(sandbox);
    return result;
}
