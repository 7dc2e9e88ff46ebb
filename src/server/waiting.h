/* waiting: requests that wait for jobs to end.
 *
 * The ids are waited for one after the other: all of them have to end, so the order costs nothing,
 * and a wait is one listener whatever its size. */
#ifndef WARPGYM_SERVER_WAITING_H
#define WARPGYM_SERVER_WAITING_H

#include "server/service_internal.h"

struct waiting {
    const char *const *ids; /* copied */
    size_t count;
    int64_t timeout_ms;
    /* Fills the response. `ended`: all of them have, or the queue has forgotten them; else the
     * time is over. On the feed's thread or a handler's. */
    void (*answer)(struct service *service, void *context, bool ended,
                   struct http_response *response);
    void (*release)(void *context); /* its last use; NULL */
    void *context;
};

/* From within a handler that may block, instead of an answer. */
void waiting_begin(struct service *service, struct http_request *request,
                   const struct waiting *waiting);

#endif
