/* internal: what the service's files share.
 *
 * Handlers that access the queue are marked HTTP_BLOCKS: queues are files and networks. A
 * waiting request holds no thread: see job_events.h. */
#pragma once

#include "device/machine_load.h"
#include "server/evaluation_json.h"
#include "server/http/http.h"
#include "server/job_events.h"
#include "server/problem_hashes.h"
#include "server/service.h"
#include "server/task_pool.h"
#include "server/worker_registry.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define SERVICE_RETRY_AFTER_S 2 /* if the store is unreachable or full */

/* Of this machine, between the last two refreshes of the maintenance thread. */
struct service_load {
    struct load now;
    double cpu_percent; /* negative: not measured yet */
};

struct web;

struct service {
    struct service_options options;
    const struct settings *settings;
    struct queue *queue;
    struct http_server *http;
    struct job_events *job_events;
    struct evaluation_json_cache *evaluation_jsons;
    struct worker_registry *workers;
    struct problem_hashes *problem_hashes;
    struct web *web; /* the dashboard */
    json_t *openapi; /* constant */
    struct metric_table *metrics;
    struct task_pool *finishers; /* of episodes whose evaluation has ended */
    int64_t opened_ns;

    pthread_t maintenance_thread;
    bool maintenance_started;
    pthread_mutex_t maintenance_lock;
    pthread_cond_t maintenance_wake;
    bool quit;                    /* likewise */
    struct queue_stats stats;     /* as of the last refresh; likewise */
    bool stats_known;             /* likewise */
    struct service_load load;     /* likewise */
    _Atomic uint64_t put_since;   /* jobs put since those statistics */
    pthread_mutex_t refresh_lock; /* one refresh at a time: the newest statistics stay */
};

/* Route tables, one for each file of api/; a row without methods ends each. */
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

/* As of the last refresh; false: none yet. */
bool service_stats(struct service *service, struct queue_stats *stats);
struct service_load service_load(struct service *service);
/* Refuses with an error of the queue: 404 no such job, 400, 503 with Retry-After if the store is
 * unreachable or full. */
void service_refuse_queue(struct http_response *response, const struct err *err);
/* As queue_cancel. */
NODISCARD int service_cancel(struct service *service, const char *id, enum queue_state *state,
                             struct err *err);
/* ?wait_s=, in ms; `standard_s` if it is absent. False: refused. */
bool service_wait_ms(const struct http_request *request, int64_t standard_s,
                     struct http_response *response, int64_t *wait_ms);

/* maintenance.c */
NODISCARD int maintenance_start(struct service *service, struct err *err);
void maintenance_stop(struct service *service);
/* Refreshes in the caller's thread. */
NODISCARD int maintenance_refresh(struct service *service, struct err *err);
void maintenance_add_metrics(struct service *service);
