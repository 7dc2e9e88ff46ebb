#include "worker/worker.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "judge/devices.h"
#include "judge/request/request.h"
#include "worker/internal.h"
#include "worker/worker_settings.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SLOTS_FOR_GPU 16
#define SLOTS_MOST 1024
#define TICK_MS 20

static struct worker *worker_of(struct queue_watcher *watcher)
{
    return (struct worker *)(void *)((char *)watcher - offsetof(struct worker, watcher));
}

/* Missed events are made up for by the next renewal. */
static void worker_on_events(struct queue_watcher *watcher, const struct queue_event *events,
                             size_t count)
{
    struct worker *worker = worker_of(watcher);
    pthread_mutex_lock(&worker->lock);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; events[i].cancel_requested && k < worker->slot_count; k++)
            if (worker->slots[k].busy && strcmp(worker->slots[k].job.id, events[i].id) == 0)
                slot_stop(&worker->slots[k], EVALUATION_CANCELLED);
    pthread_mutex_unlock(&worker->lock);
}

static bool is_name(const char *name)
{
    return evaluation_is_id(name) && strlen(name) < QUEUE_NAME_BYTES;
}

static void worker_set_name(struct worker *worker)
{
    char host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof host - 1);
    if (worker->options.name)
        snprintf(worker->name, sizeof worker->name, "%s", worker->options.name);
    else
        snprintf(worker->name, sizeof worker->name, "%.64s-%d-%06x", host, (int)getpid(),
                 (unsigned)(clock_secret() & 0xFFFFFF));
}

/* "gpu": for jobs that need one; "any": preferably on a GPU, else on the CPU. */
static void worker_set_claims(struct worker *worker)
{
    struct judge_device devices[JUDGE_DEVICES];
    size_t gpus = judge_devices(worker->judge, devices) - 1;
    const struct optional_int *wanted = &worker_settings(worker->options.settings)->slots;
    size_t slots = gpus > 0 ? gpus * SLOTS_FOR_GPU : (size_t)devices[gpus].cores;
    if (gpus > 0)
        worker->claims[worker->claim_count++] = "gpu";
    worker->claims[worker->claim_count++] = "any";
    worker->claims[worker->claim_count++] = "cpu";
    worker->slot_count = wanted->given        ? (size_t)wanted->value
                         : slots < SLOTS_MOST ? slots
                                              : SLOTS_MOST;
}

static int start_threads(struct worker *worker, struct err *err)
{
    worker->slots = mem_alloc(worker->slot_count * sizeof *worker->slots);
    for (size_t i = 0; i < worker->slot_count; i++)
        worker->slots[i].worker = worker;
    queue_watch(worker->options.queue, &worker->watcher);
    worker->heartbeat_started = pthread_create(&worker->heartbeat_thread, NULL, worker_heartbeat,
                                               worker) == 0;
    if (!worker->heartbeat_started)
        return err_set(err, ERR_IO, "cannot start the worker's thread");
    while (worker->thread_count < worker->slot_count &&
           pthread_create(&worker->slots[worker->thread_count].thread, NULL, slot_thread,
                          &worker->slots[worker->thread_count]) == 0)
        worker->thread_count++;
    if (worker->thread_count < worker->slot_count)
        return err_set(err, ERR_IO, "cannot start more than %zu of %zu job threads",
                       worker->thread_count, worker->slot_count);
    return 0;
}

int worker_start(struct worker **out, const struct worker_options *options, struct err *err)
{
    struct worker *worker = mem_alloc(sizeof *worker);
    worker->options = *options;
    worker->watcher.on_events = worker_on_events;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, NULL);
    worker->started_ms = clock_wall_ms();
    worker->posted_ns = clock_now_ns();
    if (options->name && !is_name(options->name)) {
        worker_free(worker);
        return err_set(err, ERR_INPUT,
                       "a worker's name has 1 to %d bytes of UTF-8 without control characters",
                       QUEUE_NAME_BYTES - 1);
    }
    worker_set_name(worker);
    struct judge_options judge = {.settings = options->settings, .cancelled = &worker->no_more};
    int result = judge_open(&worker->judge, &judge, err);
    if (result < 0) {
        worker_free(worker);
        return result;
    }
    worker_set_claims(worker);
    worker_hash_settings(worker);
    result = start_threads(worker, err);
    if (result < 0) {
        worker_drain(worker, 0);
        worker_free(worker);
        return result;
    }
    worker_metrics_open(
        worker); /* nothing fails after this line: the metrics refer to the worker */
    judge_warm(worker->judge, PROBLEM_TORCH, "candidate.py");
    log_write(LOG_LEVEL_INFO, "worker", "%s claims jobs in %zu slots", worker->name,
              worker->slot_count);
    *out = worker;
    return 0;
}

const char *worker_name(const struct worker *worker)
{
    return worker->name;
}

/* With the lock. */
static bool is_idle(const struct worker *worker)
{
    for (size_t i = 0; i < worker->slot_count; i++)
        if (worker->slots[i].busy)
            return false;
    return true;
}

static void stop_all(struct worker *worker)
{
    for (size_t i = 0; i < worker->slot_count; i++)
        slot_stop(&worker->slots[i], SLOT_DRAINED);
}

void worker_drain(struct worker *worker, int64_t timeout_ms)
{
    int64_t start_ns = clock_now_ns();
    pthread_mutex_lock(&worker->lock);
    worker->draining = true;
    pthread_mutex_unlock(&worker->lock);
    queue_interrupt(worker->options.queue);
    pthread_mutex_lock(&worker->lock);
    while (!is_idle(worker) && clock_ms_since(start_ns) < (double)timeout_ms) {
        struct timespec until = clock_in_ms(TICK_MS);
        pthread_cond_timedwait(&worker->changed, &worker->lock, &until);
    }
    stop_all(worker);
    pthread_mutex_unlock(&worker->lock);
    for (size_t i = 0; i < worker->thread_count; i++)
        pthread_join(worker->slots[i].thread, NULL);
    pthread_mutex_lock(&worker->lock);
    worker->ended = true;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    if (worker->heartbeat_started)
        pthread_join(worker->heartbeat_thread, NULL);
    queue_unwatch(worker->options.queue, &worker->watcher);
}

void worker_free(struct worker *worker)
{
    if (!worker)
        return;
    worker->no_more = 1;
    if (worker->judge)
        judge_close(worker->judge);
    mem_free(worker->slots);
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->lock);
    mem_free(worker);
}
