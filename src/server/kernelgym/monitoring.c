/* kernelgym_monitoring: KernelGYM's routes about the service itself. */
#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "server/internal.h"
#include "server/kernelgym/report.h"
#include "server/kernelgym/routes.h"
#include "server/web/web.h"

static void root_get(void *context, struct http_request *request, struct http_response *response)
{
    http_set_header(response, "Vary", "Accept");
    if (http_wants_page(request))
        web_answer_page(response);
    else
        http_set_json(response, kernelgym_root(clock_wall_ms()));
}

static void queue_status(void *context, struct http_request *request,
                         struct http_response *response)
{
    struct service *service = context;
    struct queue_stats stats;
    struct err err;
    if (queue_stats(service->queue, &stats, &err) < 0)
        service_refuse_queue(response, &err);
    else
        http_set_json(response, kernelgym_queue(&stats));
}

static void answer_workers(struct service *service, bool health, struct http_response *response)
{
    json_t *workers = worker_registry_json(service->workers);
    http_set_json(response, kernelgym_workers(workers, health));
    json_decref(workers);
}

static void workers_status(void *context, struct http_request *request,
                           struct http_response *response)
{
    answer_workers(context, false, response);
}

static void worker_health(void *context, struct http_request *request,
                          struct http_response *response)
{
    answer_workers(context, true, response);
}

/* The texts that *out borrows from; NULL: the response is a refusal. */
static json_t *read_query(const struct http_request *request, enum kernelgym_query_kind kind,
                          struct kernelgym_query *out, struct http_response *response)
{
    static const char *const names[] = {"worker_id", "device",    "node_id",
                                        "hostname",  "node_name", "min_errors"};
    struct kernelgym_reply reply;
    json_t *query = json_object();
    for (size_t i = 0; i < COUNT(names); i++)
        if (http_query(request, names[i]))
            json_put(query, names[i], json_text(http_query(request, names[i])));
    if (kernelgym_query_parse(query, kind, clock_wall_ms(), out, &reply) == 0)
        return query;
    kernelgym_send(response, &reply);
    json_decref(query);
    return NULL;
}

static void answer_worker(const struct http_request *request, enum kernelgym_query_kind kind,
                          struct http_response *response)
{
    struct kernelgym_query asked;
    struct kernelgym_reply reply;
    json_t *query = read_query(request, kind, &asked, response);
    if (!query)
        return;
    kernelgym_refuse_worker(&reply);
    kernelgym_send(response, &reply);
    json_decref(query);
}

static void register_worker(void *context, struct http_request *request,
                            struct http_response *response)
{
    answer_worker(request, KERNELGYM_NEW_WORKER, response);
}

static void other_worker(void *context, struct http_request *request,
                         struct http_response *response)
{
    answer_worker(request, KERNELGYM_WORKER, response);
}

/* Nodes need no ids here; the answer repeats the requested name. */
static void node_allocate(void *context, struct http_request *request,
                          struct http_response *response)
{
    struct kernelgym_query asked;
    json_t *query = read_query(request, KERNELGYM_NODE, &asked, response);
    if (query)
        http_set_json(response, kernelgym_node(asked.node_name ? asked.node_name : asked.hostname,
                                               asked.hostname));
    json_decref(query);
}

/* A candidate that crashes a device harms only itself, so no history is kept. */
static void problematic_codes(void *context, struct http_request *request,
                              struct http_response *response)
{
    struct kernelgym_query asked;
    json_t *query = read_query(request, KERNELGYM_PROBLEMATIC, &asked, response);
    if (query)
        http_set_json(response, kernelgym_problematic(asked.min_errors));
    json_decref(query);
}

/* A job that is queued again keeps its position: nothing is scheduled separately. */
static void retry_queue(void *context, struct http_request *request, struct http_response *response)
{
    (void)context, (void)request;
    http_set_json(response, kernelgym_retries());
}

static void clear_errors(void *context, struct http_request *request,
                         struct http_response *response)
{
    http_set_json(response, kernelgym_cleared(http_parameter(request, "hash")));
}

#define OPTIONAL HTTP_BODY_OPTIONAL, HTTP_BODY_STANDARD, NULL /* the body is ignored */

const struct http_route kernelgym_monitoring_routes[] = {
    {HTTP_GET, "/", root_get, HTTP_PUBLIC_PAGE, 0, NULL},
    {HTTP_GET, "/queue/status", queue_status, HTTP_BLOCKS, 0, NULL},
    {HTTP_GET, "/workers/status", workers_status, 0, 0, NULL},
    {HTTP_POST, "/node/allocate", node_allocate, OPTIONAL},
    {HTTP_POST, "/worker/register", register_worker, OPTIONAL},
    {HTTP_POST, "/worker/unregister", other_worker, OPTIONAL},
    {HTTP_POST, "/worker/heartbeat", other_worker, OPTIONAL},
    {HTTP_POST, "/worker/evict_from_lb", other_worker, OPTIONAL},
    {HTTP_GET, "/monitoring/problematic-codes", problematic_codes, 0, 0, NULL},
    {HTTP_GET, "/monitoring/retry-queue", retry_queue, 0, 0, NULL},
    {HTTP_GET, "/monitoring/worker-health", worker_health, 0, 0, NULL},
    {HTTP_POST, "/monitoring/clear-error-history/:hash", clear_errors, OPTIONAL},
    {0},
};
