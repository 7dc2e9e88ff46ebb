#include "judge/process/warm_pool.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "judge/process/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#define SPAWN_TIMEOUT_MS 130000 /* the standby server may still be loading PyTorch */
#define WARM_TIMEOUT_MS 120000
#define TICK_MS 50 /* for a look at whether it is still wanted */
#define PROCESSES_MAX 64
#define THREADS 2 /* the driver makes one context at a time, but there is more to a process */

struct warm_pool {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t threads[THREADS];
    int thread_count;
    struct warm_pool_options options;
    struct sandbox *sandbox;
    struct sandboxed waiting[PROCESSES_MAX]; /* oldest first */
    uint32_t count;
    uint32_t starting;
    uint32_t takers;   /* that wait for one */
    uint32_t expected; /* that may still be started */
    uint32_t failures;
    bool failed; /* starting one did not work: not tried again until one is waited for */
    _Atomic bool closing;
};

/* Until the other end of the pipe is closed. A byte before that: it could not get ready. A child
 * that was opened there would fail, although another process might do. */
static int await_end(const struct warm_pool *pool, int pipe, struct err *err)
{
    char byte;
    struct pollfd wait = {.fd = pipe, .events = POLLIN};
    int64_t deadline_ns = clock_now_ns() + WARM_TIMEOUT_MS * INT64_C(1000000);
    while (poll(&wait, 1, TICK_MS) <= 0) {
        if (pool->closing)
            return err_set(err, ERR_CANCELLED, "cancelled");
        if (clock_now_ns() > deadline_ns)
            return err_set(err, ERR_TIMEOUT, "a process did not get ready");
    }
    return read(pipe, &byte, 1) > 0 ? err_set(err, ERR_IO, "a process could not get ready") : 0;
}

static int warm_process(const struct warm_pool *pool, struct sandboxed *process, struct err *err)
{
    struct wire_warm message = {.type = WIRE_WARM, .gpu = pool->options.gpu};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(err, errno, "cannot make a pipe");
    int result = wire_send(process->channel, &message, sizeof message, &ends[1], 1, err);
    close(ends[1]);
    if (result == 0)
        result = await_end(pool, ends[0], err);
    close(ends[0]);
    if (result == 0 && sandboxed_ended(process))
        result = err_set(err, ERR_CRASH, "a process ended while it got ready");
    return result;
}

static int spawn_process(const struct warm_pool *pool, struct sandboxed *process, struct err *err)
{
    int result = standby_spawn(pool->options.standby, pool->sandbox, SPAWN_TIMEOUT_MS, process,
                               err);
    if (result < 0)
        return result;
    result = process->layers >> LAYER_SCRATCH & 1
                 ? warm_process(pool, process, err)
                 : err_set(err, ERR_MISSING, "the sandbox has no scratch");
    if (result < 0)
        sandboxed_close(process);
    return result;
}

static bool is_wanted(const struct warm_pool *pool)
{
    uint32_t coming = pool->count + pool->starting;
    bool ahead = coming < pool->options.processes && pool->expected > 0 &&
                 (!pool->options.busy || *pool->options.busy != 1);
    return !pool->failed && coming < PROCESSES_MAX && (ahead || coming < pool->takers);
}

static void *refill_pool(void *argument)
{
    struct warm_pool *pool = argument;
    pthread_mutex_lock(&pool->lock);
    while (!pool->closing) {
        struct sandboxed process;
        struct err err;
        if (!is_wanted(pool)) {
            pthread_cond_wait(&pool->changed, &pool->lock);
            continue;
        }
        pool->expected -= pool->expected > 0;
        pool->starting++;
        pthread_mutex_unlock(&pool->lock);
        int64_t start_ns = clock_now_ns();
        int result = spawn_process(pool, &process, &err);
        log_write(LOG_LEVEL_DEBUG, "judge", "a process stands ready after %.0f ms",
                  clock_ms_since(start_ns));
        if (result < 0 && result != ERR_CANCELLED)
            log_write(LOG_LEVEL_DEBUG, "judge", "no process stands ready: %s", err.text);
        pthread_mutex_lock(&pool->lock);
        pool->starting--;
        pool->failed = result < 0;
        pool->failures += result < 0;
        if (result == 0)
            pool->waiting[pool->count++] = process;
        pthread_cond_broadcast(&pool->changed);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

int warm_pool_open(struct warm_pool **pool, const struct warm_pool_options *options,
                   struct err *err)
{
    struct warm_pool *made = mem_alloc(sizeof *made);
    int failed = 0;
    made->options = *options;
    if (made->options.processes > PROCESSES_MAX)
        made->options.processes = PROCESSES_MAX;
    made->sandbox = mem_alloc(sizeof *made->sandbox);
    *made->sandbox = *options->sandbox;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    while (made->thread_count < THREADS && !failed) {
        failed = pthread_create(&made->threads[made->thread_count], NULL, refill_pool, made);
        made->thread_count += !failed;
    }
    if (failed) {
        warm_pool_close(made);
        return err_sys(err, failed, "cannot start a thread");
    }
    *pool = made;
    return 0;
}

void warm_pool_close(struct warm_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    for (uint32_t i = 0; i < pool->count; i++)
        sandboxed_close(&pool->waiting[i]);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->changed);
    mem_free(pool->sandbox);
    mem_free(pool);
}

void warm_pool_drop(struct warm_pool *pool)
{
    struct sandboxed dropped[PROCESSES_MAX];
    uint32_t count = 0;
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    while (count < pool->count) {
        dropped[count] = pool->waiting[count];
        count++;
    }
    pool->count = 0;
    pool->expected += count;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < count; i++)
        sandboxed_close(&dropped[i]);
}

void warm_pool_wake(struct warm_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

void warm_pool_expect(struct warm_pool *pool, uint32_t processes)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->expected += processes;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

/* With the lock: the oldest that still lives. */
static bool take_living(struct warm_pool *pool, struct sandboxed *process)
{
    while (pool->count > 0) {
        *process = pool->waiting[0];
        pool->count--;
        for (uint32_t i = 0; i < pool->count; i++)
            pool->waiting[i] = pool->waiting[i + 1];
        if (!sandboxed_ended(process))
            return true;
        sandboxed_close(process);
        pthread_cond_broadcast(&pool->changed); /* it counted as one that comes */
    }
    return false;
}

uint32_t warm_pool_count(struct warm_pool *pool)
{
    if (!pool)
        return 0;
    pthread_mutex_lock(&pool->lock);
    uint32_t count = pool->count;
    pthread_mutex_unlock(&pool->lock);
    return count;
}

bool warm_pool_take(struct warm_pool *pool, const _Atomic int *cancelled, struct sandboxed *process)
{
    bool taken = false;
    pthread_mutex_lock(&pool->lock);
    uint32_t failures = pool->failures;
    pool->failed = false;
    pool->takers++;
    pthread_cond_broadcast(&pool->changed);
    while (!(taken = take_living(pool, process)) && pool->failures == failures &&
           !(cancelled && *cancelled)) {
        struct timespec until = clock_in_ms(TICK_MS);
        pthread_cond_timedwait(&pool->changed, &pool->lock, &until);
    }
    pool->takers--;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    return taken;
}
