/* health: liveness, readiness and metrics. */
#include "base/clock.h"
#include "base/json.h"
#include "server/internal.h"
#include "server/kernelgym/report.h"

#include <string.h>

/* NULL: healthy. */
static const char *health_problem(struct service *service, struct err *err)
{
    if (queue_probe(service->queue, err) < 0)
        return err->text;
    if (worker_registry_count(service->workers, false) == 0)
        return "no worker claims jobs";
    return NULL;
}

/* `workers` is borrowed. */
static struct kernelgym_facts collect_facts(struct service *service, const json_t *workers)
{
    struct service_load load = service_load(service);
    struct kernelgym_facts facts = {.now_ms = clock_wall_ms(),
                                    .workers = workers,
                                    .load = load.now,
                                    .cpu_percent = load.cpu_percent,
                                    .uptime_s = 1e-3 * clock_ms_since(service->opened_ns)};
    (void)service_stats(service, &facts.stats);
    return facts;
}

static void show_health(void *context, struct http_request *request, struct http_response *response)
{
    struct service *service = context;
    struct err err;
    json_t *workers = worker_registry_json(service->workers);
    struct kernelgym_facts facts = collect_facts(service, workers);
    facts.trouble = health_problem(service, &err);
    http_set_status(response, facts.trouble ? 503 : 200);
    http_set_json(response, kernelgym_health(&facts));
    json_decref(workers);
}

/* Readiness for a load balancer: a missing worker does not make the server unready. */
static void show_ready(void *context, struct http_request *request, struct http_response *response)
{
    struct service *service = context;
    struct err err;
    if (http_stopping(service->http)) {
        http_refuse(response, 503, "stopping", "the server is stopping");
    } else if (queue_probe(service->queue, &err) < 0) {
        service_refuse_queue(response, &err);
    } else {
        json_t *answer = json_object();
        json_put(answer, "ready", json_true());
        json_put(answer, "queue", json_text(queue_name(service->queue)));
        http_set_json(response, answer);
    }
}

static void show_metrics(void *context, struct http_request *request,
                         struct http_response *response)
{
    struct service *service = context;
    const char *accept = http_header(request, "accept");
    if (accept && strcasestr(accept, "application/json")) {
        const struct kernelgym_facts facts = collect_facts(service, NULL);
        http_set_json(response, kernelgym_metrics(&facts));
    } else {
        http_set_metrics(response, service->options.metrics);
    }
}

const struct http_route health_routes[] = {
    {HTTP_GET, "/health", show_health, HTTP_BLOCKS | HTTP_PUBLIC, 0, NULL},
    {HTTP_GET, "/ready", show_ready, HTTP_BLOCKS | HTTP_PUBLIC, 0, NULL},
    {HTTP_GET, "/metrics", show_metrics, 0, 0, NULL},
    {0},
};
