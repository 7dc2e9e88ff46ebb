#include "judge/process/warm_pool.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "judge/process/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define SPAWN_TIMEOUT_MS 130000 /* the standby server may still be loading PyTorch */
#define WARM_TIMEOUT_MS 120000
#define TICK_MS 50 /* for a look at whether it is still wanted */
#define PROCESSES_MAX 64
#define THREADS 2 /* the driver makes one context at a time, but there is more to a process */

struct ready {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t threads[THREADS];
    int thread_count;
    struct ready_options options;
    struct sandbox *sandbox;
    struct sandboxed waiting[PROCESSES_MAX]; /* oldest first */
    uint32_t count;
    uint32_t starting;
    uint32_t takers;   /* that wait for one */
    uint32_t expected; /* that may still be started */
    uint32_t failures;
    bool failed; /* starting one did not work: nobody tries again until one is asked for */
    _Atomic bool closing;
};

/* Until the other end of the pipe is closed. A byte before that: it could not get ready, and
 * whoever is opened there would be told so, when another one might do. */
static int await_end(const struct ready *ready, int pipe, struct err *err)
{
    char byte;
    struct pollfd wait = {.fd = pipe, .events = POLLIN};
    int64_t deadline_ns = clock_now_ns() + WARM_TIMEOUT_MS * INT64_C(1000000);
    while (poll(&wait, 1, TICK_MS) <= 0) {
        if (ready->closing)
            return err_set(err, ERR_CANCELLED, "cancelled");
        if (clock_now_ns() > deadline_ns)
            return err_set(err, ERR_TIMEOUT, "a process did not get ready");
    }
    return read(pipe, &byte, 1) > 0 ? err_set(err, ERR_IO, "a process could not get ready") : 0;
}

static int warm(const struct ready *ready, struct sandboxed *process, struct err *err)
{
    struct wire_warm message = {.type = WIRE_WARM, .gpu = ready->options.gpu};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(err, errno, "cannot make a pipe");
    int result = wire_send(process->channel, &message, sizeof message, &ends[1], 1, err);
    close(ends[1]);
    if (result == 0)
        result = await_end(ready, ends[0], err);
    close(ends[0]);
    if (result == 0 && sandboxed_ended(process))
        result = err_set(err, ERR_CRASH, "a process ended while it got ready");
    return result;
}

static int spawn(const struct ready *ready, struct sandboxed *process, struct err *err)
{
    int result = standby_spawn(ready->options.standby, ready->sandbox, SPAWN_TIMEOUT_MS, process,
                               err);
    if (result < 0)
        return result;
    result = process->layers >> LAYER_SCRATCH & 1
                 ? warm(ready, process, err)
                 : err_set(err, ERR_MISSING, "the sandbox has no scratch");
    if (result < 0)
        sandboxed_close(process);
    return result;
}

static bool is_wanted(const struct ready *ready)
{
    uint32_t coming = ready->count + ready->starting;
    bool ahead = coming < ready->options.processes && ready->expected > 0 &&
                 (!ready->options.busy || *ready->options.busy != 1);
    return !ready->failed && coming < PROCESSES_MAX && (ahead || coming < ready->takers);
}

static void *refill(void *argument)
{
    struct ready *ready = argument;
    pthread_mutex_lock(&ready->lock);
    while (!ready->closing) {
        struct sandboxed process;
        struct err err;
        if (!is_wanted(ready)) {
            pthread_cond_wait(&ready->changed, &ready->lock);
            continue;
        }
        ready->expected -= ready->expected > 0;
        ready->starting++;
        pthread_mutex_unlock(&ready->lock);
        int64_t start_ns = clock_now_ns();
        int result = spawn(ready, &process, &err);
        log_write(LOG_LEVEL_DEBUG, "judge", "a process stands ready after %.0f ms",
                  clock_ms_since(start_ns));
        if (result < 0 && result != ERR_CANCELLED)
            log_write(LOG_LEVEL_DEBUG, "judge", "no process stands ready: %s", err.text);
        pthread_mutex_lock(&ready->lock);
        ready->starting--;
        ready->failed = result < 0;
        ready->failures += result < 0;
        if (result == 0)
            ready->waiting[ready->count++] = process;
        pthread_cond_broadcast(&ready->changed);
    }
    pthread_mutex_unlock(&ready->lock);
    return NULL;
}

int ready_open(struct ready **ready, const struct ready_options *options, struct err *err)
{
    struct ready *made = mem_alloc(sizeof *made);
    int failed = 0;
    made->options = *options;
    if (made->options.processes > PROCESSES_MAX)
        made->options.processes = PROCESSES_MAX;
    made->sandbox = mem_alloc(sizeof *made->sandbox);
    *made->sandbox = *options->sandbox;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    while (made->thread_count < THREADS && !failed) {
        failed = pthread_create(&made->threads[made->thread_count], NULL, refill, made);
        made->thread_count += !failed;
    }
    if (failed) {
        ready_close(made);
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
    for (int i = 0; i < ready->thread_count; i++)
        pthread_join(ready->threads[i], NULL);
    for (uint32_t i = 0; i < ready->count; i++)
        sandboxed_close(&ready->waiting[i]);
    pthread_mutex_destroy(&ready->lock);
    pthread_cond_destroy(&ready->changed);
    mem_free(ready->sandbox);
    mem_free(ready);
}

void ready_drop(struct ready *ready)
{
    struct sandboxed dropped[PROCESSES_MAX];
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
        sandboxed_close(&dropped[i]);
}

void ready_look(struct ready *ready)
{
    if (!ready)
        return;
    pthread_mutex_lock(&ready->lock);
    pthread_cond_broadcast(&ready->changed);
    pthread_mutex_unlock(&ready->lock);
}

void ready_expect(struct ready *ready, uint32_t processes)
{
    if (!ready)
        return;
    pthread_mutex_lock(&ready->lock);
    ready->expected += processes;
    pthread_cond_broadcast(&ready->changed);
    pthread_mutex_unlock(&ready->lock);
}

/* With the lock: the oldest that still lives. */
static bool take_one(struct ready *ready, struct sandboxed *process)
{
    while (ready->count > 0) {
        *process = ready->waiting[0];
        ready->count--;
        for (uint32_t i = 0; i < ready->count; i++)
            ready->waiting[i] = ready->waiting[i + 1];
        if (!sandboxed_ended(process))
            return true;
        sandboxed_close(process);
        pthread_cond_broadcast(&ready->changed); /* it counted as one that comes */
    }
    return false;
}

uint32_t ready_count(struct ready *ready)
{
    if (!ready)
        return 0;
    pthread_mutex_lock(&ready->lock);
    uint32_t count = ready->count;
    pthread_mutex_unlock(&ready->lock);
    return count;
}

bool ready_take(struct ready *ready, const _Atomic int *cancelled, struct sandboxed *process)
{
    bool taken = false;
    pthread_mutex_lock(&ready->lock);
    uint32_t failures = ready->failures;
    ready->failed = false;
    ready->takers++;
    pthread_cond_broadcast(&ready->changed);
    while (!(taken = take_one(ready, process)) && ready->failures == failures &&
           !(cancelled && *cancelled)) {
        struct timespec until = clock_in_ms(TICK_MS);
        pthread_cond_timedwait(&ready->changed, &ready->lock, &until);
    }
    ready->takers--;
    pthread_cond_broadcast(&ready->changed);
    pthread_mutex_unlock(&ready->lock);
    return taken;
}
