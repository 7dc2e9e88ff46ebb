/* service: all that answers HTTP for a queue: our own API under /v1, KernelGYM's routes at the
 * root, health, metrics.
 *
 * It judges nothing: what it takes goes into the queue, and what workers make of it comes out of
 * it. Any number of services may share one queue. Between requests it remembers only what can be
 * read again from there.
 *
 * Ownership: settings, queue, gym, metrics and search paths are borrowed and outlive the service;
 * HTTP is its own. Threads: HTTP's; one that watches the queue for all who wait; one that keeps
 * house, about once a second. service_open … service_free belong to one thread.
 */
#ifndef WARPGYM_SERVER_SERVICE_H
#define WARPGYM_SERVER_SERVICE_H

#include "base/err.h"
#include "base/metrics.h"
#include "base/settings.h"
#include "queue/queue.h"

#include <stddef.h>
#include <stdint.h>

struct gym;
struct service;

struct service_options {
    const struct settings *settings;
    struct queue *queue;
    struct gym *gym;         /* of episodes */
    struct metrics *metrics; /* the service's own go here, and all of it is shown at /metrics */
    const char *const *search_paths; /* of problem suites */
    size_t search_path_count;
};

/* Bound, not yet accepting. ERR_INPUT, ERR_IO as http_open. */
NODISCARD int service_open(struct service **out, const struct service_options *options,
                           struct err *err);
NODISCARD int service_start(struct service *service, struct err *err);
/* "http://127.0.0.1:10907"; the service's. */
const char *service_address(const struct service *service);

/* Accepts nobody any more, ends every wait and stream (the clients are told to come again), and
 * lets requests under way end. ERR_TIMEOUT when one has not: then service_free would wait for
 * it. */
NODISCARD int service_stop(struct service *service, int64_t timeout_ms, struct err *err);
/* After service_stop, or without service_start. NULL is fine. */
void service_free(struct service *service);

#endif
