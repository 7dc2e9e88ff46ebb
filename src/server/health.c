/* health: liveness, readiness and metrics. */
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "judge/verdict.h"
#include "server/internal.h"
#include "server/kernelgym/report.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static int64_t sum_depth(const struct queue_stats *stats)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < QUEUE_PRIORITIES; i++)
        sum += stats->priorities[i].depth;
    return (int64_t)sum;
}

/* STATUS_COUNT: with any. */
static int64_t count_outcome(const struct queue_stats *stats, enum verdict_status status)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < stats->ended_count; i++)
        if (status == STATUS_COUNT || verdict_status_named(stats->ended[i].outcome) == status)
            sum += stats->ended[i].count;
    return (int64_t)sum;
}

/* NULL: healthy. */
static const char *health_problem(struct service *service, struct err *err)
{
    if (queue_probe(service->queue, err) < 0)
        return err->text;
    if (worker_registry_count(service->workers, false) == 0)
        return "no worker claims jobs";
    return NULL;
}

static size_t count_gpus(const json_t *workers)
{
    size_t count = 0, i;
    json_t *worker;
    json_array_foreach(workers, i, worker)
    {
        count += json_array_size(json_object_get(worker, "devices"));
    }
    return count;
}

/* GPUs of all machines; cuda:N numbers them in the order of their workers. */
static size_t list_gpus(const json_t *workers, struct kernelgym_gpu *gpus, char (*names)[16])
{
    size_t count = 0, i, j;
    json_t *worker, *device;
    json_array_foreach(workers, i, worker)
    {
        json_array_foreach(json_object_get(worker, "devices"), j, device)
        {
            const char *kind = json_string_value(json_object_get(device, "kind"));
            const char *state = json_string_value(json_object_get(device, "state"));
            const json_t *bytes = json_object_get(device, "memory_bytes");
            if (!kind || strcmp(kind, "cuda") != 0)
                continue;
            snprintf(names[count], sizeof names[count], "cuda:%zu", count);
            gpus[count] = (struct kernelgym_gpu){
                .device = names[count],
                .name = json_string_value(json_object_get(device, "name")),
                .memory_total_bytes = json_is_number(bytes) ? json_number_value(bytes) : -1,
                .memory_used_bytes = -1,
                .available = !state || strcmp(state, "quarantined") != 0,
                .error = json_string_value(json_object_get(device, "why"))};
            count++;
        }
    }
    return count;
}

static void show_health(void *context, struct http_request *request, struct http_response *response)
{
    struct service *service = context;
    struct queue_stats stats = {0};
    struct err err;
    struct kernelgym_health health = {.now_ms = clock_wall_ms(),
                                      .trouble = health_problem(service, &err),
                                      .uptime_s = 1e-3 * clock_ms_since(service->opened_ns)};
    json_t *workers = worker_registry_json(service->workers);
    size_t capacity = count_gpus(workers) + 1;
    struct kernelgym_gpu *gpus = mem_alloc(capacity * sizeof *gpus);
    char(*names)[16] = mem_alloc(capacity * sizeof *names);
    struct service_load load = service_load(service);
    (void)service_stats(service, &stats);
    health.cpu_percent = load.cpu_percent;
    health.memory_percent = load_memory_percent(&load.now);
    health.memory_total_bytes = load.now.memory > 0 ? (double)load.now.memory : -1;
    health.memory_available_bytes = load.now.memory > 0 ? (double)load.now.memory_available : -1;
    health.gpus = gpus;
    health.gpu_count = list_gpus(workers, gpus, names);
    health.pending = sum_depth(&stats);
    health.processing = (int64_t)stats.running;
    health.completed = count_outcome(&stats, STATUS_COUNT);
    http_set_status(response, health.trouble ? 503 : 200);
    http_set_json(response, kernelgym_health(&health));
    mem_free(gpus);
    mem_free(names);
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

static void set_kernelgym_metrics(struct service *service, struct http_response *response)
{
    struct queue_stats stats = {0};
    (void)service_stats(service, &stats);
    struct service_load load = service_load(service);
    int64_t all = count_outcome(&stats, STATUS_COUNT);
    struct kernelgym_metrics metrics = {
        .now_ms = clock_wall_ms(),
        .processing_time_s = -1,
        .throughput_per_hour = -1, /* this server's share alone would mislead */
        .success_rate = all > 0 ? (double)count_outcome(&stats, STATUS_PASSED) / (double)all : -1,
        .gpu_percent = -1,
        .memory_percent = load_memory_percent(&load.now),
        .cpu_percent = load.cpu_percent,
        .pending = sum_depth(&stats),
        .active = (int64_t)stats.running,
        .completed = all,
        .compilation_errors = count_outcome(&stats, STATUS_COMPILE_ERROR) +
                              count_outcome(&stats, STATUS_LOAD_ERROR),
        .runtime_errors = count_outcome(&stats, STATUS_RUNTIME_ERROR),
        .timeout_errors = count_outcome(&stats, STATUS_TIMEOUT)};
    http_set_json(response, kernelgym_metrics(&metrics));
}

static void show_metrics(void *context, struct http_request *request,
                         struct http_response *response)
{
    struct service *service = context;
    const char *accept = http_header(request, "accept");
    if (accept && strcasestr(accept, "application/json")) {
        set_kernelgym_metrics(service, response);
        return;
    }
    http_set_metrics(response, service->options.metrics);
}

const struct http_route health_routes[] = {
    {HTTP_GET, "/health", show_health, HTTP_BLOCKS | HTTP_PUBLIC, 0, NULL},
    {HTTP_GET, "/ready", show_ready, HTTP_BLOCKS | HTTP_PUBLIC, 0, NULL},
    {HTTP_GET, "/metrics", show_metrics, 0, 0, NULL},
    {0},
};
