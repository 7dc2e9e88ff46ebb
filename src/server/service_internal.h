/* service_internal: what the files of the service share, and nobody else includes.
 *
 * A route's handler that asks the queue is marked HTTP_BLOCKS: queues are files and networks. Who
 * waits holds no thread: see feed.h.
 */
#ifndef WARPGYM_SERVER_SERVICE_INTERNAL_H
#define WARPGYM_SERVER_SERVICE_INTERNAL_H

#include "device/load.h"
#include "server/catalogue.h"
#include "server/feed.h"
#include "server/fleet.h"
#include "server/http/http.h"
#include "server/pool.h"
#include "server/service.h"
#include "server/view.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define SERVICE_RETRY_AFTER_S 2 /* where the store is away or full */

/* Of this machine, between the keeper's last two looks. */
struct service_load {
    struct load now;
    double cpu_percent; /* negative: not known yet */
};

struct service {
    struct service_options options;
    const struct settings *settings;
    struct queue *queue;
    struct http_server *http;
    struct feed *feed;
    struct views *views;
    struct fleet *fleet;
    struct catalogue *catalogue;
    struct metric_table *metrics;
    struct pool *finishers; /* of episodes whose evaluation has ended */
    int64_t opened_ns;

    pthread_t keeper;
    bool keeping;
    pthread_mutex_t keeper_lock;
    pthread_cond_t keeper_wake;
    bool quit;                  /* likewise */
    struct queue_stats stats;   /* as it was last; likewise */
    bool stats_known;           /* likewise */
    struct service_load load;   /* likewise */
    _Atomic uint64_t put_since; /* jobs, since those statistics */
};

/* Tables of routes, one for each api_*.c; ended by a row without methods. */
extern const struct http_route api_evaluations_routes[];
extern const struct http_route api_batches_routes[];
extern const struct http_route api_episodes_routes[];
extern const struct http_route api_events_routes[];
extern const struct http_route api_problems_routes[];
extern const struct http_route api_workers_routes[];
extern const struct http_route health_routes[];
extern const struct http_route kernelgym_routes[];
extern const struct http_route kernelgym_monitoring_routes[];

/* All of those tables; ends with NULL. */
extern const struct http_route *const service_tables[];

/* What the keeper saw last; false: nothing yet. */
bool service_stats(struct service *service, struct queue_stats *stats);
struct service_load service_load(struct service *service);
/* Of an error of the queue: 404 no such job, 400, 503 with Retry-After where the store is away or
 * full. */
void service_refuse_queue(struct http_response *response, const struct err *err);
/* The envelope of refusals, by whose route it is. */
void service_envelope(void *context, const struct http_error *error,
                      const struct http_request *request, struct http_response *response);
/* As queue_cancel. */
NODISCARD int service_cancel(struct service *service, const char *id, enum queue_state *state,
                             struct err *err);
/* ?wait_s=, in ms. False: refused. */
bool service_wait_ms(const struct http_request *request, struct http_response *response,
                     int64_t *wait_ms);

/* maintenance.c */
NODISCARD int keeper_start(struct service *service, struct err *err);
void keeper_stop(struct service *service);
/* Reads what the keeper keeps, in the caller's thread. */
NODISCARD int keeper_look(struct service *service, struct err *err);
void keeper_metrics(struct service *service);

#endif
