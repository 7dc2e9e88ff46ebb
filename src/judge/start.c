/* start: a side in its box. Declared in context.h.
 *
 * Where the machine lets a box mount memory, that is its scratch, and vanishes with it. Where not,
 * which only the first box can tell, each box gets a directory of this machine instead.
 */
#include "base/file.h"
#include "base/log.h"
#include "judge/context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROBE_TIMEOUT_MS 10000

/* For a box that cannot mount memory: a directory that its process may write to. */
static int make_scratch(struct box *box, struct err *err)
{
    const char *place = getenv("TMPDIR");
    snprintf(box->scratch, sizeof box->scratch, "%s/warpgym-side-XXXXXX",
             place && place[0] == '/' && strlen(place) < 400 ? place : "/tmp");
    if (!mkdtemp(box->scratch)) {
        int result = err_sys(err, errno, "%s: cannot create a scratch directory", box->scratch);
        box->scratch[0] = '\0';
        return result;
    }
    if (geteuid() == 0 && chown(box->scratch, BOX_NOBODY, BOX_NOBODY) < 0)
        return err_sys(err, errno, "%s: cannot hand it to the sandbox", box->scratch);
    return 0;
}

static int try_start(struct judge *judge, struct box *box, struct side *side,
                     struct side_start *start, struct wire_opened *opened,
                     int opened_descriptors[WIRE_DESCRIPTORS], struct err *err)
{
    box->scratch[0] = '\0';
    int result = judge->no_own_root ? make_scratch(box, err) : 0;
    if (result == 0) {
        result = side_open(side, start, opened, opened_descriptors, err);
    } else if (start->boxed) {
        struct boxed unused = *start->boxed;
        boxed_close(&unused);
    }
    if (box->scratch[0] && !side->scratch)
        file_remove_tree(box->scratch);
    return result;
}

/* three: slot, oracle (twice the size for f32), as much again to work in */
static uint64_t memory_for(const struct judge *judge, uint64_t arguments_bytes)
{
    return judge->options.settings->run_memory_bytes + 3 * arguments_bytes;
}

static void make_box(struct judge *judge, const struct gpu_unit *unit, enum box_kind kind,
                     uint64_t arguments_bytes, struct box *box)
{
    const struct settings *settings = judge->options.settings;
    box_init(box, kind);
    box->memory_bytes = memory_for(judge, arguments_bytes);
    if (box_has_gpu(box)) {
        box->memory_bytes = 0; /* the driver reserves more addresses than any limit would allow */
        box_allow(box, gpu_pool_directory(&judge->gpus));
        box->gpu = unit ? gpu_sensor_minor(&unit->sensor) : -1;
    }
    box->scratch_bytes = settings->run_scratch_bytes;
}

struct wire_gpu judge_gpu(const struct judge *judge, const struct gpu *facts)
{
    struct wire_gpu gpu = {.queues = (uint32_t)judge->options.settings->gpu_queues};
    if (facts)
        snprintf(gpu.uuid, sizeof gpu.uuid, "%s", facts->uuid);
    return gpu;
}

struct ready *judge_ready(struct judge *judge, struct gpu_unit *unit, enum box_kind kind)
{
    struct err err;
    struct ready_options options = {
        .processes = (uint32_t)judge->options.settings->gpu_processes,
        .busy = unit ? &unit->placed : NULL,
    };
    if (!unit || options.processes == 0 || judge->no_own_root ||
        judge_standby(judge, kind, &options.standby, &err) < 0)
        return NULL;
    struct box *box = mem_alloc(sizeof *box);
    make_box(judge, unit, kind, 0, box);
    options.box = box;
    options.gpu = judge_gpu(judge, &unit->facts);
    pthread_mutex_lock(&judge->lock);
    if (!unit->ready[kind] && ready_open(&unit->ready[kind], &options, &err) < 0)
        log_write(LOG_LEVEL_WARN, "judge", "no processes stand ready: %s", err.text);
    struct ready *ready = unit->ready[kind];
    pthread_mutex_unlock(&judge->lock);
    mem_free(box);
    return ready;
}

int judge_start(struct judge *judge, struct gpu_unit *unit, enum box_kind kind,
                uint64_t arguments_bytes, struct side *side, struct side_start *start,
                struct wire_opened *opened, int opened_descriptors[WIRE_DESCRIPTORS],
                struct err *err)
{
    struct box *box = mem_alloc(sizeof *box);
    struct boxed boxed;
    struct ready *ready = start->boxed ? NULL : judge_ready(judge, unit, kind);
    make_box(judge, unit, kind, arguments_bytes, box);
    for (const char *const *path = start->program ? start->program->readable : NULL; path && *path;
         path++)
        box_allow(box, *path);
    if (start->boxed)
        boxed = *start->boxed;
    if (start->boxed || (ready && ready_take(ready, start->cancelled, &boxed)))
        start->boxed = &boxed;
    int result = judge_standby(judge, kind, &start->standby, err);
    if (result == 0)
        result = standby_ready(start->standby, err);
    start->box = box;
    if (box_has_gpu(box) && start->message->role == WIRE_CANDIDATE)
        start->hold_bytes = memory_for(judge, arguments_bytes); /* hold.c instead */
    if (result == 0) {
        bool own_root = !judge->no_own_root; /* another thread may find out meanwhile */
        result = try_start(judge, box, side, start, opened, opened_descriptors, err);
        if (result == ERR_MISSING && own_root) {
            side_close(side);
            judge->no_own_root = true;
            start->boxed = NULL;
            result = try_start(judge, box, side, start, opened, opened_descriptors, err);
        }
    } else if (start->boxed) {
        boxed_close(&boxed);
    }
    start->boxed = NULL;
    mem_free(box);
    return result;
}

int judge_probe(struct judge *judge, struct standby *standby, struct err *err)
{
    struct boxed boxed;
    if (!judge->toolchain.root || judge->probed)
        return 0;
    struct box *box = mem_alloc(sizeof *box);
    box_init(box, BOX_NATIVE);
    int result = standby_spawn(standby, box, PROBE_TIMEOUT_MS, &boxed, err);
    if (result == 0) {
        judge->no_own_root = !(boxed.layers >> LAYER_MOUNT & 1);
        judge->probed = true;
        boxed_close(&boxed);
    }
    mem_free(box);
    return result;
}
