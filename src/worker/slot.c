/* slot: the thread of one slot. */
#include "worker/internal.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "queue/queue_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CLAIM_MS 2000   /* how long a claim waits */
#define PAUSE_MS 500    /* after a claim that failed: the store is unreachable */
#define FINISH_MS 60000 /* how long a verdict is offered to a store that does not answer */

static void sleep_ms(int64_t ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static bool is_draining(struct worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    bool draining = worker->draining;
    pthread_mutex_unlock(&worker->lock);
    return draining;
}

void slot_stop(struct slot *slot, int why)
{
    if (slot->busy && slot->stop == EVALUATION_GOES_ON)
        slot->stop = why;
}

/* True: claimed a job, whose lease the heartbeat renews. */
static bool slot_claim(struct slot *slot)
{
    struct worker *worker = slot->worker;
    struct queue_claim claim = {.worker = worker->name,
                                .needs = worker->claims,
                                .needs_count = worker->claim_count,
                                .timeout_ms = CLAIM_MS};
    struct queue_job job = {0};
    struct err err;
    bool got = false;
    if (queue_claim(worker->options.queue, &claim, &job, &got, &err) < 0) {
        log_write(LOG_LEVEL_WARN, "worker", "cannot claim a job: %s", err.text);
        sleep_ms(PAUSE_MS);
        return false;
    }
    if (!got)
        return false;
    pthread_mutex_lock(&worker->lock);
    slot->job = job;
    slot->stop = worker->draining ? SLOT_DRAINED : EVALUATION_GOES_ON;
    slot->deadline_ns = 0;
    slot->busy = true;
    pthread_mutex_unlock(&worker->lock);
    return true;
}

/* A cancellation between the claim and now had no listener yet; check for it. */
static void slot_check_cancelled(struct slot *slot)
{
    struct queue_job now;
    struct err ignored;
    if (queue_get(slot->worker->options.queue, slot->job.id, QUEUE_NO_BODIES, &now, &ignored) < 0)
        return;
    pthread_mutex_lock(&slot->worker->lock);
    if (now.cancel_requested)
        slot_stop(slot, EVALUATION_CANCELLED);
    pthread_mutex_unlock(&slot->worker->lock);
    queue_job_deinit(&now);
}

/* Whether a second evaluation would give the same verdict. A lack of memory is the machine's. */
static bool is_lasting(const struct verdict *verdict)
{
    const char *class = verdict->error_class;
    bool machine = class && (strcmp(class, VERDICT_KILLED) == 0 || strcmp(class, "memory") == 0);
    return verdict->status != STATUS_INFRASTRUCTURE_ERROR && verdict->status != STATUS_TIMEOUT &&
           verdict->status != STATUS_CANCELLED && !machine;
}

/* Retries until the store accepts the verdict, so that it need not be evaluated again. */
static void slot_finish(struct slot *slot, const struct verdict *verdict, const char *text)
{
    struct queue *queue = slot->worker->options.queue;
    const char *status = verdict_status_name(verdict->status);
    struct queue_result result = {.outcome = status,
                                  .bytes = text,
                                  .count = strlen(text),
                                  .answers_key = is_lasting(verdict)};
    enum queue_finish_result finish_result = QUEUE_FINISHED;
    int64_t start_ns = clock_now_ns();
    struct err err;
    int code;
    while ((code = queue_finish(queue, &slot->job, &result, &finish_result, &err)) < 0 &&
           (code == ERR_IO || code == ERR_TIMEOUT || code == ERR_LIMIT) &&
           clock_ms_since(start_ns) < FINISH_MS)
        sleep_ms(PAUSE_MS);
    if (code < 0)
        log_event(LOG_LEVEL_ERROR, "worker", "cannot deliver a verdict", "why", err.text, NULL);
    else if (finish_result == QUEUE_REFUSED)
        log_event(LOG_LEVEL_INFO, "worker", "another worker's verdict was first", NULL);
}

static void slot_hand_back(struct slot *slot, const char *why, bool counts)
{
    struct err err;
    if (queue_fail(slot->worker->options.queue, &slot->job, why, counts, &err) < 0)
        log_event(LOG_LEVEL_WARN, "worker", "cannot hand a job back; its lease will end", "why",
                  err.text, NULL);
}

/* The machine's fault, not the request's. */
static bool blames_machine(const struct verdict *verdict)
{
    const char *class = verdict->error_class;
    return verdict->status == STATUS_INFRASTRUCTURE_ERROR && class &&
           strcmp(class, "reference") != 0;
}

static bool may_try_again(const struct slot *slot)
{
    return slot->job.attempt < queue_settings(slot->worker->options.settings)->attempts;
}

static void slot_settle(struct slot *slot, const struct verdict *verdict)
{
    const char *why = verdict->error_message;
    char *text = NULL;
    if (slot->stop == SLOT_LOST)
        return;
    if (slot->stop == SLOT_DRAINED) {
        slot_hand_back(slot, "the worker was stopped", false);
        return;
    }
    if (blames_machine(verdict) && may_try_again(slot)) {
        slot_hand_back(slot, why ? why : "the judge failed", true);
        return;
    }
    json_t *json = verdict_json(verdict);
    text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(json);
    slot_finish(slot, verdict, text);
    worker_metrics_record(slot->worker, verdict);
    free(text);
}

static void slot_log_verdict(const struct slot *slot, const struct verdict *verdict)
{
    char attempt[16];
    snprintf(attempt, sizeof attempt, "%d", slot->job.attempt);
    log_event(LOG_LEVEL_INFO, "worker", "judged", "status", verdict_status_name(verdict->status),
              "attempt", attempt, NULL);
}

static void slot_release(struct slot *slot)
{
    struct worker *worker = slot->worker;
    pthread_mutex_lock(&worker->lock);
    slot->busy = false;
    queue_job_deinit(&slot->job);
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
}

void *slot_thread(void *argument)
{
    struct slot *slot = argument;
    slot->session = session_new(slot->worker->judge);
    while (!is_draining(slot->worker)) {
        if (!slot_claim(slot))
            continue;
        log_set_job(slot->job.id);
        slot_check_cancelled(slot);
        struct verdict verdict;
        slot_judge(slot, &verdict); /* returns soon if the job is stopped already */
        slot_log_verdict(slot, &verdict);
        slot_settle(slot, &verdict);
        verdict_deinit(&verdict);
        log_set_job(NULL);
        slot_release(slot);
    }
    session_free(slot->session);
    return NULL;
}
