#include "server/internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "gym/gym.h"
#include "server/api/openapi.h"
#include "server/kernelgym/reply.h"
#include "server/server_settings.h"
#include "server/web/web.h"

#include <string.h>

#define FINISHERS 8 /* threads: their writes share a commit */

const struct http_route *const service_tables[] = {
    api_evaluations_routes,
    api_batches_routes,
    api_episodes_routes,
    api_events_routes,
    api_problems_routes,
    api_workers_routes,
    health_routes,
    kernelgym_routes,
    kernelgym_monitoring_routes,
    web_page_routes,
    web_run_routes,
    web_trace_routes,
    web_verdict_routes,
    NULL,
};

/* What the handlers of a table get. */
static void *context_of(struct service *service, const struct http_route *table)
{
    for (const struct http_route *const *at = web_tables; *at; at++)
        if (*at == table)
            return service->web;
    return service;
}

const char *service_address(const struct service *service)
{
    return http_address(service->http);
}

int service_cancel(struct service *service, const char *id, enum queue_state *state,
                   struct err *err)
{
    int result = queue_cancel(service->queue, id, state, err);
    if (result < 0 || *state == QUEUE_DONE)
        return result;
    const char *before = log_set_job(id);
    log_event(LOG_LEVEL_DEBUG, "server", "cancelled", NULL);
    log_set_job(before);
    return 0;
}

void service_refuse_queue(struct http_response *response, const struct err *err)
{
    if (err->code == ERR_MISSING)
        http_refuse(response, 404, "not_found", "%s", err->text);
    else if (err->code == ERR_INPUT)
        http_refuse(response, 400, "bad_request", "%s", err->text);
    else if (err->code == ERR_IO || err->code == ERR_TIMEOUT || err->code == ERR_LIMIT)
        http_refuse_for(response, 503, SERVICE_RETRY_AFTER_S, "queue_away", "%s", err->text);
    else
        http_refuse(response, 500, err_name(err->code), "%s", err->text);
}

static bool is_ours(const struct http_request *request)
{
    const char *path = request ? http_path(request) : "";
    return *path == '\0' || strncmp(path, "/v1/", 4) == 0 || strcmp(path, "/v1") == 0 ||
           strcmp(path, "/openapi.json") == 0 || strcmp(path, "/ready") == 0;
}

/* The format of refusals, which depends on the route. */
static void write_envelope(void *context, const struct http_error *error,
                           const struct http_request *request, struct http_response *response)
{
    struct kernelgym_reply reply = {0};
    struct err err;
    if (is_ours(request)) {
        http_envelope_own(context, error, request, response);
        return;
    }
    err_set(&err, ERR_INPUT, "%s", error->text);
    if (error->status == 500)
        kernelgym_refuse_fault(&reply, &err, clock_wall_ms());
    else if (error->status == 400)
        (void)kernelgym_refuse_body(&reply, &err, clock_wall_ms());
    else
        (void)kernelgym_refuse(&reply, error->status, KERNELGYM_NO_CODE, "%s", error->text);
    if (reply.error_code)
        http_set_header(response, "X-Error-Code", reply.error_code);
    http_set_json(response, json_incref(reply.body));
    kernelgym_reply_deinit(&reply);
}

bool service_wait_ms(const struct http_request *request, int64_t standard_s,
                     struct http_response *response, int64_t *wait_ms)
{
    int64_t wait_s = standard_s;
    bool fine = http_query_int(request, "wait_s", 0, LIMIT_WAIT_S, &wait_s, response);
    *wait_ms = wait_s * 1000;
    return fine;
}

static json_t *workers_of(void *context)
{
    return worker_registry_json(context);
}

static void service_init(struct service *service, const struct service_options *options)
{
    service->options = *options;
    service->settings = options->settings;
    service->queue = options->queue;
    service->opened_ns = clock_now_ns();
    service->evaluation_jsons = evaluation_json_cache_new();
    service->workers = worker_registry_new();
    if (options->gym)
        gym_judged_by(options->gym, workers_of, service->workers);
    service->finishers = task_pool_new(FINISHERS, SIZE_MAX);
    service->problem_hashes = problem_hashes_new(options->search_paths);
    service->web = web_new(&(struct web_options){.folder = server_settings(options->settings)->runs,
                                                 .queue = options->queue});
    pthread_mutex_init(&service->maintenance_lock, NULL);
    pthread_mutex_init(&service->refresh_lock, NULL);
    clock_condition_init(&service->maintenance_wake);
}

int service_open(struct service **out, const struct service_options *options, struct err *err)
{
    struct service *service = mem_alloc(sizeof *service);
    service_init(service, options);
    maintenance_add_metrics(service);
    const struct http_options http = {.envelope = write_envelope,
                                      .context = service,
                                      .metrics = options->metrics};
    int result = http_open(options->settings, &http, &service->http, err);
    for (const struct http_route *const *table = service_tables; *table && result == 0; table++)
        result = http_add_table(service->http, *table, context_of(service, *table), err);
    if (result == 0)
        result = openapi_describe(service_tables, &service->openapi, err);
    if (result == 0)
        result = job_events_open(&service->job_events, options->queue, err);
    if (result < 0) {
        service_free(service);
        return result;
    }
    *out = service;
    return 0;
}

int service_start(struct service *service, struct err *err)
{
    struct err away;
    /* An unreachable store is no reason not to serve: it may recover. */
    if (maintenance_refresh(service, &away) < 0)
        log_event(LOG_LEVEL_ERROR, "server", "cannot reach the queue", "why", away.text, NULL);
    int result = maintenance_start(service, err);
    if (result == 0)
        result = web_start(service->web, err);
    return result < 0 ? result : http_start(service->http, err);
}

int service_stop(struct service *service, int64_t timeout_ms, struct err *err)
{
    int result = http_stop(service->http, timeout_ms, err);
    maintenance_stop(service);
    web_stop(service->web);
    return result;
}

void service_free(struct service *service)
{
    if (!service)
        return;
    maintenance_stop(service);
    web_stop(service->web);
    job_events_stop(service->job_events); /* returns every handle */
    task_pool_free(service->finishers);
    http_free(service->http);
    web_free(service->web);
    job_events_free(service->job_events);
    evaluation_json_cache_free(service->evaluation_jsons);
    worker_registry_free(service->workers);
    problem_hashes_free(service->problem_hashes);
    json_decref(service->openapi);
    pthread_cond_destroy(&service->maintenance_wake);
    pthread_mutex_destroy(&service->refresh_lock);
    pthread_mutex_destroy(&service->maintenance_lock);
    mem_free(service);
}
