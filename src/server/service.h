/* service: the HTTP interface of a queue: our own API under /v1, KernelGYM's routes at the root,
 * health, metrics.
 *
 * It evaluates nothing: it puts requests into the queue and reads from it what workers make of
 * them. Any number of services may share one queue. Between requests it keeps only what it can
 * read again from the queue.
 *
 * Ownership: settings, queue, gym, metrics and search paths are borrowed and outlive the
 * service; it owns HTTP. Threads: HTTP's; one that watches the queue for all waiting requests;
 * one for maintenance, about once a second. service_open … service_free belong to one thread. */
#pragma once

#include "base/err.h"
#include "base/metrics.h"
#include "base/paths.h"
#include "base/settings.h"
#include "queue/queue.h"

#include <stddef.h>
#include <stdint.h>

struct gym;
struct service;

struct service_options {
    const struct settings *settings;
    struct queue *queue;
    struct gym *gym;                       /* of episodes */
    struct metrics *metrics;               /* the service adds its own; /metrics shows all */
    const struct paths_list *search_paths; /* of problem suites */
};

/* Bound, not yet accepting. ERR_INPUT, ERR_IO as http_open. */
NODISCARD int service_open(struct service **out, const struct service_options *options,
                           struct err *err);
NODISCARD int service_start(struct service *service, struct err *err);
/* "http://127.0.0.1:10907"; the service's. */
const char *service_address(const struct service *service);

/* Stops accepting, ends every wait and stream (clients are asked to retry), and lets running
 * requests end. ERR_TIMEOUT if one has not: then service_free would wait for it. */
NODISCARD int service_stop(struct service *service, int64_t timeout_ms, struct err *err);
/* After service_stop, or without service_start. NULL is fine. */
void service_free(struct service *service);
