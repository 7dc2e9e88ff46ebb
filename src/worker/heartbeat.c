/* heartbeat: renews leases, registers the worker, stops jobs that are cancelled or late. */
#include "worker/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "queue/queue_settings.h"
#include "worker/worker_settings.h"

#include <stdlib.h>
#include <string.h>

#define TICK_MS 50
#define RENEWALS 3 /* per lease: two may be lost */
#define REGISTRATION_PERIODS 3
#define REAP_MS 1000

static void slots_stop_late(struct worker *worker)
{
    int64_t now_ns = clock_now_ns();
    for (size_t i = 0; i < worker->slot_count; i++) {
        struct slot *slot = &worker->slots[i];
        if (slot->busy && slot->deadline_ns && now_ns > slot->deadline_ns)
            slot_stop(slot, EVALUATION_OUT_OF_TIME);
    }
}

/* Copies of the jobs' identities; the slots go on meanwhile. */
struct held_jobs {
    struct queue_job *jobs;
    const struct queue_job **list;
    struct slot **slots;
    enum queue_lease_state *lease_states;
    size_t count;
};

static void slots_copy_jobs(struct worker *worker, struct held_jobs *held_jobs)
{
    for (size_t i = 0; i < worker->slot_count; i++) {
        struct slot *slot = &worker->slots[i];
        if (!slot->busy)
            continue;
        struct queue_job *job = &held_jobs->jobs[held_jobs->count];
        *job = slot->job;
        job->payload = job->result = NULL;
        held_jobs->list[held_jobs->count] = job;
        held_jobs->slots[held_jobs->count++] = slot;
    }
}

static bool slot_has_job(const struct slot *slot, const struct queue_job *job)
{
    return slot->busy && slot->job.sequence == job->sequence && slot->job.claims == job->claims &&
           strcmp(slot->job.id, job->id) == 0;
}

static void slots_stop_lost(struct worker *worker, const struct held_jobs *held_jobs)
{
    pthread_mutex_lock(&worker->lock);
    for (size_t i = 0; i < held_jobs->count; i++) {
        if (held_jobs->lease_states[i] == QUEUE_HELD ||
            !slot_has_job(held_jobs->slots[i], held_jobs->list[i]))
            continue;
        slot_stop(held_jobs->slots[i],
                  held_jobs->lease_states[i] == QUEUE_LOST ? SLOT_LOST : EVALUATION_CANCELLED);
    }
    pthread_mutex_unlock(&worker->lock);
}

/* While the store is unreachable, the jobs stay this worker's until their leases end, and
 * perhaps after. */
static void leases_renew(struct worker *worker)
{
    size_t most = worker->slot_count;
    struct held_jobs held_jobs = {.jobs = mem_alloc(most * sizeof *held_jobs.jobs),
                                  .list = mem_alloc(most * sizeof(const struct queue_job *)),
                                  .slots = mem_alloc(most * sizeof(struct slot *)),
                                  .lease_states = mem_alloc(most * sizeof *held_jobs.lease_states)};
    struct err err;
    int result = 0;
    pthread_mutex_lock(&worker->lock);
    slots_copy_jobs(worker, &held_jobs);
    pthread_mutex_unlock(&worker->lock);
    if (held_jobs.count > 0)
        result = queue_renew(worker->options.queue, held_jobs.list, held_jobs.count, 0,
                             held_jobs.lease_states, &err);
    if (result == 0)
        slots_stop_lost(worker, &held_jobs);
    else
        log_write(LOG_LEVEL_WARN, "worker", "cannot renew %zu leases: %s", held_jobs.count,
                  err.text);
    mem_free(held_jobs.lease_states);
    mem_free(held_jobs.slots);
    mem_free(held_jobs.list);
    mem_free(held_jobs.jobs);
}

/* False: removes the registration. */
static void registration_send(struct worker *worker, bool lives)
{
    int64_t keep_ms = worker_settings(worker->options.settings)->heartbeat_ms *
                      REGISTRATION_PERIODS;
    struct err err;
    json_t *registration = worker_registration(worker);
    char *text = json_dumps(registration, JSON_COMPACT);
    if (queue_register(worker->options.queue, worker->name, text, lives ? strlen(text) : 0, keep_ms,
                       &err) < 0)
        log_write(LOG_LEVEL_WARN, "worker", "cannot register: %s", err.text);
    else
        worker->posted_ns = clock_now_ns();
    free(text);
    json_decref(registration);
}

int worker_check(const struct worker *worker, struct err *err)
{
    double most_ms = (double)worker_settings(worker->options.settings)->heartbeat_ms *
                     REGISTRATION_PERIODS;
    double silent_ms = clock_ms_since(worker->posted_ns);
    if (silent_ms <= most_ms)
        return 0;
    return err_set(err, ERR_TIMEOUT, "the queue has accepted no heartbeat for %.0f s",
                   silent_ms * 1e-3);
}

/* Any process on the store may reap; this one may be the only one. */
static void queue_reap_lost(struct worker *worker)
{
    struct queue_reaping reaping;
    struct err err;
    if (queue_reap(worker->options.queue, &reaping, &err) < 0)
        log_write(LOG_LEVEL_WARN, "worker", "cannot requeue lost jobs: %s", err.text);
    else if (reaping.returned + reaping.lost > 0)
        log_write(LOG_LEVEL_WARN, "worker", "queued %llu jobs of silent workers again",
                  (unsigned long long)reaping.returned);
}

/* Sleeps a tick; false: the worker has ended. */
static bool heartbeat_wait(struct worker *worker)
{
    struct timespec until = clock_in_ms(TICK_MS);
    pthread_mutex_lock(&worker->lock);
    if (!worker->ended)
        pthread_cond_timedwait(&worker->changed, &worker->lock, &until);
    slots_stop_late(worker);
    bool goes_on = !worker->ended;
    pthread_mutex_unlock(&worker->lock);
    return goes_on;
}

void *worker_heartbeat(void *argument)
{
    struct worker *worker = argument;
    const struct settings *settings = worker->options.settings;
    int64_t renewed_ns = clock_now_ns();
    int64_t posted_ns = 0;
    int64_t reaped_ns = renewed_ns;
    do {
        if (posted_ns == 0 ||
            clock_ms_since(posted_ns) > (double)worker_settings(settings)->heartbeat_ms) {
            posted_ns = clock_now_ns();
            registration_send(worker, true);
        }
        if (clock_ms_since(renewed_ns) > (double)queue_settings(settings)->lease_ms / RENEWALS) {
            renewed_ns = clock_now_ns();
            leases_renew(worker);
        }
        if (clock_ms_since(reaped_ns) > REAP_MS) {
            reaped_ns = clock_now_ns();
            queue_reap_lost(worker);
        }
    } while (heartbeat_wait(worker));
    registration_send(worker, false);
    return NULL;
}
