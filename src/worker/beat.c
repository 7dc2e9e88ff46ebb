/* beat: keeps the leases, tells the board, and stops what has to stop. Declared in slot.h. */
#include "worker/slot.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define TICK_MS 50
#define RENEWALS 3 /* in one lease: two may be lost */
#define NOTE_BEATS 3
#define REAP_MS 1000

static void stop_late(struct worker *worker)
{
    int64_t now_ns = clock_now_ns();
    for (size_t i = 0; i < worker->slot_count; i++) {
        struct slot *slot = &worker->slots[i];
        if (slot->busy && slot->deadline_ns && now_ns > slot->deadline_ns)
            slot_stop(slot, EVALUATION_OUT_OF_TIME);
    }
}

/* Copies of what is needed to say which job is meant; the slots go on meanwhile. */
struct held {
    struct queue_job *jobs;
    const struct queue_job **list;
    struct slot **slots;
    enum queue_standing *standings;
    size_t count;
};

static void hold(struct worker *worker, struct held *held)
{
    for (size_t i = 0; i < worker->slot_count; i++) {
        struct slot *slot = &worker->slots[i];
        if (!slot->busy)
            continue;
        struct queue_job *job = &held->jobs[held->count];
        *job = slot->job;
        job->payload = job->result = NULL;
        held->list[held->count] = job;
        held->slots[held->count++] = slot;
    }
}

static bool has_still(const struct slot *slot, const struct queue_job *job)
{
    return slot->busy && slot->job.sequence == job->sequence && slot->job.claims == job->claims &&
           strcmp(slot->job.id, job->id) == 0;
}

static void obey(struct worker *worker, const struct held *held)
{
    pthread_mutex_lock(&worker->lock);
    for (size_t i = 0; i < held->count; i++) {
        if (held->standings[i] == QUEUE_HELD || !has_still(held->slots[i], held->list[i]))
            continue;
        slot_stop(held->slots[i],
                  held->standings[i] == QUEUE_LOST ? SLOT_LOST : EVALUATION_CANCELLED);
    }
    pthread_mutex_unlock(&worker->lock);
}

/* Where the store is away, the jobs are this worker's until their leases end, and perhaps after. */
static void renew(struct worker *worker)
{
    size_t most = worker->slot_count;
    struct held held = {.jobs = mem_alloc(most * sizeof *held.jobs),
                        .list = mem_alloc(most * sizeof(const struct queue_job *)),
                        .slots = mem_alloc(most * sizeof(struct slot *)),
                        .standings = mem_alloc(most * sizeof *held.standings)};
    struct err err;
    int result = 0;
    pthread_mutex_lock(&worker->lock);
    hold(worker, &held);
    pthread_mutex_unlock(&worker->lock);
    if (held.count > 0)
        result = queue_renew(worker->options.queue, held.list, held.count, 0, held.standings, &err);
    if (result == 0)
        obey(worker, &held);
    else
        log_write(LOG_LEVEL_WARN, "worker", "cannot renew %zu leases: %s", held.count, err.text);
    mem_free(held.standings);
    mem_free(held.slots);
    mem_free(held.list);
    mem_free(held.jobs);
}

/* `lives`: else the note is taken down. */
static void post(struct worker *worker, bool lives)
{
    int64_t keep_ms = worker->options.settings->worker_heartbeat_ms * NOTE_BEATS;
    struct err err;
    json_t *note = worker_note(worker);
    char *text = json_dumps(note, JSON_COMPACT);
    if (queue_post(worker->options.queue, worker->name, text, lives ? strlen(text) : 0, keep_ms,
                   &err) < 0)
        log_write(LOG_LEVEL_WARN, "worker", "cannot tell the board: %s", err.text);
    else
        worker->posted_ns = clock_now_ns();
    free(text);
    json_decref(note);
}

int worker_check(const struct worker *worker, struct err *err)
{
    double most_ms = (double)worker->options.settings->worker_heartbeat_ms * NOTE_BEATS;
    double silent_ms = clock_ms_since(worker->posted_ns);
    if (silent_ms <= most_ms)
        return 0;
    return err_set(err, ERR_TIMEOUT, "the queue has taken no heartbeat for %.0f s",
                   silent_ms * 1e-3);
}

/* Any process on the store may; this one may be the only one. */
static void reap(struct worker *worker)
{
    struct queue_reaping reaping;
    struct err err;
    if (queue_reap(worker->options.queue, &reaping, &err) < 0)
        log_write(LOG_LEVEL_WARN, "worker", "cannot look for lost jobs: %s", err.text);
    else if (reaping.returned + reaping.lost > 0)
        log_write(LOG_LEVEL_WARN, "worker", "%llu jobs of silent workers are queued again",
                  (unsigned long long)reaping.returned);
}

/* Sleeps a tick; false: the worker has ended. */
static bool tick(struct worker *worker)
{
    struct timespec until = clock_in_ms(TICK_MS);
    pthread_mutex_lock(&worker->lock);
    if (!worker->ended)
        pthread_cond_timedwait(&worker->changed, &worker->lock, &until);
    stop_late(worker);
    bool goes_on = !worker->ended;
    pthread_mutex_unlock(&worker->lock);
    return goes_on;
}

void *worker_beat(void *argument)
{
    struct worker *worker = argument;
    const struct settings *settings = worker->options.settings;
    int64_t renewed_ns = clock_now_ns();
    int64_t posted_ns = 0;
    int64_t reaped_ns = renewed_ns;
    do {
        if (posted_ns == 0 || clock_ms_since(posted_ns) > (double)settings->worker_heartbeat_ms) {
            posted_ns = clock_now_ns();
            post(worker, true);
        }
        if (clock_ms_since(renewed_ns) > (double)settings->queue_lease_ms / RENEWALS) {
            renewed_ns = clock_now_ns();
            renew(worker);
        }
        if (clock_ms_since(reaped_ns) > REAP_MS) {
            reaped_ns = clock_now_ns();
            reap(worker);
        }
    } while (tick(worker));
    post(worker, false);
    return NULL;
}
