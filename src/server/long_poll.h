/* long_poll: requests that wait for jobs to end.
 *
 * The ids are waited for one after the other: all of them have to end, so the order costs
 * nothing, and a request needs one listener whatever its size. */
#pragma once

#include "server/internal.h"

struct long_poll {
    const char (*ids)[QUEUE_ID_BYTES]; /* copied */
    size_t count;
    int64_t timeout_ms;
    struct task_pool *pool; /* runs `answer` at the end; NULL: the event thread */
    /* Fills the response. `ended`: all jobs have ended or are unknown; else the time is over, and
     * a handler's thread calls it. */
    void (*answer)(struct service *service, void *context, bool ended,
                   struct http_response *response);
    void (*release)(void *context); /* called last; may be NULL */
    void *context;
};

/* Called by a handler that may block, instead of answering. */
void long_poll_begin(struct service *service, struct http_request *request,
                     const struct long_poll *waiting);
