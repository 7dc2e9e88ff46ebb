#include "server/waiting.h"

#include "base/mem.h"

struct wait {
    struct feed_listener listener; /* first */
    struct service *service;
    struct http_waiter *waiter;
    struct http_response *response; /* the feed's thread; NULL: none yet */
    struct waiting asked;
    char **ids;
    size_t at; /* the first that has not ended, as far as we know */
};

static void point(struct wait *wait)
{
    feed_key_job(wait->listener.key, wait->ids[wait->at]);
}

static enum feed_look look(struct feed_listener *listener, const struct queue_event *event)
{
    struct wait *wait = (struct wait *)listener;
    struct err err;
    struct queue_job job;
    if (event && event->state != QUEUE_DONE && event->state != QUEUE_CANCELLED)
        return FEED_WAIT;
    for (; wait->at < wait->asked.count; wait->at++) {
        int result = queue_get(wait->service->queue, wait->ids[wait->at], QUEUE_NO_BODIES, &job,
                               &err);
        if (result < 0 && result != ERR_MISSING)
            return FEED_AGAIN;
        if (result == 0 && !view_ended(&job)) {
            point(wait);
            return FEED_WAIT;
        }
    }
    wait->response = http_response_new(wait->waiter);
    wait->asked.answer(wait->service, wait->asked.context, true, wait->response);
    return FEED_OVER;
}

/* The last thing that may touch the wait: giving the handle back may free it. */
static void drop(struct feed_listener *listener)
{
    struct wait *wait = (struct wait *)listener;
    if (wait->response)
        (void)http_answer(wait->waiter, wait->response);
    else
        http_drop(wait->waiter);
}

static void late(void *context, struct http_request *request, struct http_response *response)
{
    struct wait *wait = context;
    (void)request;
    wait->asked.answer(wait->service, wait->asked.context, false, response);
    feed_cancel(wait->service->feed, &wait->listener);
}

static void gone(void *context)
{
    struct wait *wait = context;
    feed_cancel(wait->service->feed, &wait->listener);
}

static void release(void *context)
{
    struct wait *wait = context;
    if (wait->asked.release)
        wait->asked.release(wait->asked.context);
    for (size_t i = 0; i < wait->asked.count; i++)
        mem_free(wait->ids[i]);
    mem_free(wait->ids);
    mem_free(wait);
}

void waiting_begin(struct service *service, struct http_request *request,
                   const struct waiting *waiting)
{
    struct wait *wait = mem_alloc(sizeof *wait);
    wait->listener.look = look;
    wait->listener.drop = drop;
    wait->service = service;
    wait->asked = *waiting;
    wait->ids = mem_alloc(waiting->count * sizeof *wait->ids);
    for (size_t i = 0; i < waiting->count; i++)
        wait->ids[i] = mem_strdup(waiting->ids[i]);
    point(wait);
    const struct http_wait asked = {.timeout_ms = waiting->timeout_ms,
                                    .late = late,
                                    .gone = gone,
                                    .release = release,
                                    .context = wait};
    wait->waiter = http_postpone(request, &asked);
    feed_add(service->feed, &wait->listener);
}
