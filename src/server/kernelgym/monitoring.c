/* kernelgym_monitoring: KernelGYM's routes about the service itself. */
#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "server/internal.h"
#include "server/kernelgym/report.h"
#include "server/kernelgym/routes.h"

#include <string.h>
#include <time.h>

static void root_get(void *context, struct http_request *request, struct http_response *response)
{
    (void)context, (void)request;
    http_set_json(response, kernelgym_root(clock_wall_ms()));
}

static void queue_status(void *context, struct http_request *request,
                         struct http_response *response)
{
    struct service *service = context;
    struct queue_stats stats;
    struct err err;
    if (queue_stats(service->queue, &stats, &err) < 0) {
        service_refuse_queue(response, &err);
        return;
    }
    http_set_json(response, kernelgym_queue((int64_t)(stats.priorities[QUEUE_URGENT].depth +
                                                      stats.priorities[QUEUE_HIGH].depth),
                                            (int64_t)stats.priorities[QUEUE_NORMAL].depth,
                                            (int64_t)stats.priorities[QUEUE_LOW].depth));
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* "2026-01-31T12:00:00.123Z" to ms; 0 if invalid. */
static int64_t time_of(const char *text)
{
    struct tm parts = {0};
    const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &parts) : NULL;
    return rest ? (int64_t)timegm(&parts) * 1000 : 0;
}

static const char *device_of(const json_t *worker)
{
    const json_t *devices = json_object_get(worker, "devices");
    size_t i;
    json_t *device;
    json_array_foreach(devices, i, device)
    {
        const char *kind = text_of(device, "kind");
        if (kind && strcmp(kind, "cuda") == 0)
            return "cuda:0";
    }
    return "cpu";
}

static const char *quarantine_of(const json_t *worker)
{
    size_t i;
    json_t *device;
    json_array_foreach(json_object_get(worker, "devices"), i, device)
    {
        const char *state = text_of(device, "state"), *why = text_of(device, "why");
        if (state && strcmp(state, "quarantined") == 0)
            return why ? why : "quarantined";
    }
    return NULL;
}

static void answer_workers(struct service *service, bool health, struct http_response *response)
{
    json_t *notes = worker_registry_json(service->workers);
    size_t count = json_array_size(notes), i;
    struct kernelgym_worker *workers = mem_alloc((count + 1) * sizeof *workers);
    json_t *note;
    json_array_foreach(notes, i, note)
    {
        int64_t heartbeat_ms = time_of(text_of(note, "heartbeat_at"));
        workers[i] = (struct kernelgym_worker){
            .id = text_of(note, "name"),
            .device = device_of(note),
            .status = json_is_true(json_object_get(note, "draining")) ? "offline" : "online",
            .node_id = text_of(note, "host"),
            .hostname = text_of(note, "host"),
            .heartbeat_ms = heartbeat_ms,
            .shutdown_reason = quarantine_of(note),
            .shutdown_ms = heartbeat_ms};
    }
    http_set_json(response, kernelgym_workers(workers, count, health));
    mem_free(workers);
    json_decref(notes);
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

static json_t *query_json(const struct http_request *request)
{
    static const char *const names[] = {"worker_id", "device",    "node_id",
                                        "hostname",  "node_name", "min_errors"};
    json_t *query = json_object();
    for (size_t i = 0; i < COUNT(names); i++)
        if (http_query(request, names[i]))
            json_put(query, names[i], json_text(http_query(request, names[i])));
    return query;
}

static void answer_worker(const struct http_request *request, bool wants_device,
                          struct http_response *response)
{
    struct kernelgym_node_query asked;
    struct kernelgym_reply reply;
    json_t *query = query_json(request);
    if (kernelgym_worker_parse(query, wants_device, clock_wall_ms(), &asked, &reply) == 0)
        kernelgym_refuse_worker(&reply);
    kernelgym_send(response, &reply);
    json_decref(query);
}

static void register_worker(void *context, struct http_request *request,
                            struct http_response *response)
{
    answer_worker(request, true, response);
}

static void other_worker(void *context, struct http_request *request,
                         struct http_response *response)
{
    answer_worker(request, false, response);
}

/* Nodes need no ids here; the answer repeats the requested name. */
static void node_allocate(void *context, struct http_request *request,
                          struct http_response *response)
{
    struct kernelgym_node_query asked;
    struct kernelgym_reply reply;
    json_t *query = query_json(request);
    if (kernelgym_node_parse(query, clock_wall_ms(), &asked, &reply) < 0)
        kernelgym_send(response, &reply);
    else
        http_set_json(response, kernelgym_node(asked.node_name ? asked.node_name : asked.hostname,
                                               asked.hostname));
    json_decref(query);
}

/* A candidate that crashes a device harms only itself, so no history is kept. */
static void problematic_codes(void *context, struct http_request *request,
                              struct http_response *response)
{
    struct kernelgym_reply reply;
    int64_t min_errors = 0;
    json_t *query = query_json(request);
    if (kernelgym_problematic_parse(query, clock_wall_ms(), &min_errors, &reply) < 0)
        kernelgym_send(response, &reply);
    else
        http_set_json(response, kernelgym_problematic(NULL, 0, min_errors));
    json_decref(query);
}

/* A job that is queued again keeps its position: nothing is scheduled separately. */
static void retry_queue(void *context, struct http_request *request, struct http_response *response)
{
    (void)context, (void)request;
    http_set_json(response, kernelgym_retries(NULL, 0));
}

static void clear_errors(void *context, struct http_request *request,
                         struct http_response *response)
{
    http_set_json(response, kernelgym_cleared(http_parameter(request, "hash")));
}

#define OPTIONAL HTTP_BODY_OPTIONAL, HTTP_BODY_STANDARD, NULL /* the body is ignored */

const struct http_route kernelgym_monitoring_routes[] = {
    {HTTP_GET, "/", root_get, 0, 0, NULL},
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
