#include "judge/ready.h"

#include "base/log.h"
#include "base/mem.h"
#include "judge/wire.h"

#include <pthread.h>
#include <string.h>

#define SPAWN_TIMEOUT_MS 130000 /* the standby server may still be loading PyTorch */
#define PROCESSES_MAX 64

struct ready {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    struct ready_options options;
    struct box *box;
    struct boxed waiting[PROCESSES_MAX]; /* oldest first */
    uint32_t count;
    uint32_t expected; /* that may still be started */
    uint32_t pauses;
    bool closing;
    bool failed; /* starting one did not work: nobody tries again until one is asked for */
};

static int spawn(const struct ready *ready, struct boxed *boxed, struct err *err)
{
    const struct gpu *gpu = ready->options.gpu;
    struct wire_warm warm = {.type = WIRE_WARM, .gpu = (uint32_t)gpu->ordinal + 1};
    memcpy(warm.gpu_uuid, gpu->id.bytes, sizeof warm.gpu_uuid);
    int result = standby_spawn(ready->options.standby, ready->box, SPAWN_TIMEOUT_MS, boxed, err);
    if (result < 0)
        return result;
    result = boxed->layers >> LAYER_SCRATCH & 1
                 ? wire_send(boxed->channel, &warm, sizeof warm, NULL, 0, err)
                 : err_set(err, ERR_MISSING, "the box has no scratch");
    if (result < 0)
        boxed_close(boxed);
    return result;
}

static bool is_wanted(const struct ready *ready)
{
    return ready->count < ready->options.processes && ready->expected > 0 && ready->pauses == 0 &&
           !ready->failed;
}

static void *refill(void *argument)
{
    struct ready *ready = argument;
    pthread_mutex_lock(&ready->lock);
    while (!ready->closing) {
        struct boxed boxed;
        struct err err;
        if (!is_wanted(ready)) {
            pthread_cond_wait(&ready->changed, &ready->lock);
            continue;
        }
        ready->expected--;
        pthread_mutex_unlock(&ready->lock);
        int result = spawn(ready, &boxed, &err);
        if (result < 0 && result != ERR_CANCELLED)
            log_write(LOG_LEVEL_DEBUG, "judge", "no process stands ready: %s", err.text);
        pthread_mutex_lock(&ready->lock);
        ready->failed = result < 0;
        if (result == 0)
            ready->waiting[ready->count++] = boxed;
        pthread_cond_broadcast(&ready->changed);
    }
    pthread_mutex_unlock(&ready->lock);
    return NULL;
}

int ready_open(struct ready **ready, const struct ready_options *options, struct err *err)
{
    struct ready *made = mem_alloc(sizeof *made);
    made->options = *options;
    if (made->options.processes > PROCESSES_MAX)
        made->options.processes = PROCESSES_MAX;
    made->box = mem_alloc(sizeof *made->box);
    *made->box = *options->box;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    int failed = pthread_create(&made->thread, NULL, refill, made);
    if (failed) {
        pthread_mutex_destroy(&made->lock);
        pthread_cond_destroy(&made->changed);
        mem_free(made->box);
        mem_free(made);
        return err_sys(err, failed, "cannot start a thread");
    }
    *ready = made;
    return 0;
}

void ready_close(struct ready *ready)
{
    if (!ready)
        return;
    pthread_mutex_lock(&ready->lock);
    ready->closing = true;
    pthread_cond_broadcast(&ready->changed);
    pthread_mutex_unlock(&ready->lock);
    pthread_join(ready->thread, NULL);
    for (uint32_t i = 0; i < ready->count; i++)
        boxed_close(&ready->waiting[i]);
    pthread_mutex_destroy(&ready->lock);
    pthread_cond_destroy(&ready->changed);
    mem_free(ready->box);
    mem_free(ready);
}

void ready_drop(struct ready *ready)
{
    struct boxed dropped[PROCESSES_MAX];
    uint32_t count = 0;
    if (!ready)
        return;
    pthread_mutex_lock(&ready->lock);
    while (count < ready->count) {
        dropped[count] = ready->waiting[count];
        count++;
    }
    ready->count = 0;
    ready->expected += count;
    pthread_cond_broadcast(&ready->changed);
    pthread_mutex_unlock(&ready->lock);
    for (uint32_t i = 0; i < count; i++)
        boxed_close(&dropped[i]);
}

static void change(struct ready *ready, uint32_t *counter, uint32_t by)
{
    if (!ready)
        return;
    pthread_mutex_lock(&ready->lock);
    *counter += by;
    pthread_cond_broadcast(&ready->changed);
    pthread_mutex_unlock(&ready->lock);
}

void ready_expect(struct ready *ready, uint32_t processes)
{
    change(ready, ready ? &ready->expected : NULL, processes);
}

void ready_pause(struct ready *ready)
{
    change(ready, ready ? &ready->pauses : NULL, 1);
}

void ready_resume(struct ready *ready)
{
    change(ready, ready ? &ready->pauses : NULL, UINT32_MAX);
}

bool ready_take(struct ready *ready, struct boxed *boxed)
{
    bool taken = false;
    pthread_mutex_lock(&ready->lock);
    while (!taken && ready->count > 0) {
        *boxed = ready->waiting[0];
        ready->count--;
        for (uint32_t i = 0; i < ready->count; i++)
            ready->waiting[i] = ready->waiting[i + 1];
        taken = !boxed_ended(boxed);
        if (!taken)
            boxed_close(boxed);
    }
    ready->failed = false;
    pthread_cond_broadcast(&ready->changed);
    pthread_mutex_unlock(&ready->lock);
    return taken;
}
