#include "server/long_poll.h"

#include "base/mem.h"

struct wait {
    struct job_listener listener; /* first */
    struct pool_task work;
    struct service *service;
    struct http_waiter *waiter;
    struct long_poll asked;
    char (*ids)[QUEUE_ID_BYTES];
    size_t at;  /* the first id that has not ended, as far as known; used by the event thread */
    bool ended; /* likewise */
};

static void long_poll_set_key(struct wait *wait)
{
    job_events_key(wait->listener.key, JOB_EVENTS_OF_JOB, wait->ids[wait->at]);
}

static enum job_listener_state long_poll_update(struct job_listener *listener,
                                                const struct queue_event *event)
{
    struct wait *wait = (struct wait *)listener;
    struct err err;
    struct queue_job job;
    if (event && event->state != QUEUE_DONE && event->state != QUEUE_CANCELLED)
        return JOB_LISTENER_KEEP;
    for (; wait->at < wait->asked.count; wait->at++) {
        int result = queue_get(wait->service->queue, wait->ids[wait->at], QUEUE_NO_BODIES, &job,
                               &err);
        if (result < 0 && result != ERR_MISSING)
            return JOB_LISTENER_RETRY;
        if (result == 0 && !evaluation_has_ended(&job)) {
            long_poll_set_key(wait);
            return JOB_LISTENER_KEEP;
        }
    }
    wait->ended = true;
    return JOB_LISTENER_DONE;
}

static void long_poll_answer(struct pool_task *work)
{
    struct wait *wait = TASK_CONTAINER(work, struct wait, work);
    struct http_response *response = http_response_new(wait->waiter);
    wait->asked.answer(wait->service, wait->asked.context, true, response);
    (void)http_answer(wait->waiter, response);
}

/* The event thread's last access to the wait: returning the handle may free it. */
static void long_poll_release(struct job_listener *listener)
{
    struct wait *wait = (struct wait *)listener;
    if (wait->ended && !wait->asked.pool)
        long_poll_answer(&wait->work);
    else if (!wait->ended || !task_pool_submit(wait->asked.pool, &wait->work))
        http_drop(wait->waiter);
}

static void long_poll_expired(void *context, struct http_request *request,
                              struct http_response *response)
{
    struct wait *wait = context;
    wait->asked.answer(wait->service, wait->asked.context, false, response);
    job_events_cancel(wait->service->job_events, &wait->listener);
}

static void long_poll_cancelled(void *context)
{
    struct wait *wait = context;
    job_events_cancel(wait->service->job_events, &wait->listener);
}

static void long_poll_free(void *context)
{
    struct wait *wait = context;
    if (wait->asked.release)
        wait->asked.release(wait->asked.context);
    mem_free(wait->ids);
    mem_free(wait);
}

void long_poll_begin(struct service *service, struct http_request *request,
                     const struct long_poll *waiting)
{
    struct wait *wait = mem_alloc(sizeof *wait);
    wait->listener.update = long_poll_update;
    wait->listener.release = long_poll_release;
    wait->work.run = long_poll_answer;
    wait->service = service;
    wait->asked = *waiting;
    wait->ids = mem_copy(waiting->ids, waiting->count * sizeof *wait->ids);
    long_poll_set_key(wait);
    const struct http_wait asked = {.timeout_ms = waiting->timeout_ms,
                                    .late = long_poll_expired,
                                    .gone = long_poll_cancelled,
                                    .release = long_poll_free,
                                    .context = wait};
    wait->waiter = http_postpone(request, &asked);
    job_events_add(service->job_events, &wait->listener);
}
