#include "server/kernelgym/report.h"

#include "base/array.h"
#include "base/json.h"
#include "base/mem.h"
#include "server/kernelgym/fields.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RETRIES_LISTED 10

json_t *kernelgym_root(int64_t now_ms)
{
    json_t *answer = json_object();
    json_put(answer, "name", json_text("KernelGym"));
    json_put(answer, "version", json_text("1.0.0"));
    json_put(answer, "description", json_text("GPU Kernel Evaluation Service"));
    json_put(answer, "server", json_text("warpgym " WARPGYM_VERSION));
    json_put(answer, "timestamp", json_time(now_ms));
    return answer;
}

static json_t *gpu_json(const struct kernelgym_gpu *gpu)
{
    json_t *answer = json_object();
    bool known = gpu->memory_total_bytes > 0 && gpu->memory_used_bytes >= 0;
    if (gpu->error)
        json_put(answer, "error", json_text(gpu->error));
    json_put(answer, "name", json_text(gpu->name));
    json_put(answer, "memory_total", json_known(gpu->memory_total_bytes));
    json_put(answer, "memory_allocated", json_known(gpu->memory_used_bytes));
    json_put(answer, "memory_reserved", json_known(gpu->memory_used_bytes));
    json_put(answer, "memory_used_percent",
             json_number(known ? 100 * gpu->memory_used_bytes / gpu->memory_total_bytes : NAN));
    json_put(answer, "available", json_boolean(gpu->available));
    return answer;
}

json_t *kernelgym_health(const struct kernelgym_health *health)
{
    json_t *gpus = json_object();
    json_t *answer = json_object();
    for (size_t i = 0; i < health->gpu_count; i++)
        json_put(gpus, health->gpus[i].device, gpu_json(&health->gpus[i]));
    json_put(answer, "status", json_text(health->trouble ? "unhealthy" : "healthy"));
    if (health->trouble)
        json_put(answer, "detail", json_text(health->trouble));
    json_put(answer, "timestamp", json_time(health->now_ms));
    json_put(answer, "gpu_status", gpus);
    json_put(answer, "queue_status",
             json_pack("{s:I, s:I, s:I}", "pending", (json_int_t)health->pending, "processing",
                       (json_int_t)health->processing, "completed", (json_int_t)health->completed));
    json_put(answer, "memory_usage",
             json_pack("{s:o, s:o, s:o, s:o}", "cpu_percent", json_known(health->cpu_percent),
                       "memory_percent", json_known(health->memory_percent), "memory_available",
                       json_known(health->memory_available_bytes), "memory_total",
                       json_known(health->memory_total_bytes)));
    json_put(answer, "active_tasks", json_integer(health->processing));
    json_put(answer, "total_processed", json_integer(health->completed));
    json_put(answer, "uptime", json_known(health->uptime_s));
    return answer;
}

/* Clients expect numbers here: unknown values are 0. */
static json_t *known_or_zero(double value)
{
    return json_real(value > 0 ? value : 0.0);
}

json_t *kernelgym_metrics(const struct kernelgym_metrics *metrics)
{
    json_t *answer = json_object();
    json_put(answer, "timestamp", json_time(metrics->now_ms));
    json_put(answer, "performance_metrics",
             json_pack("{s:o, s:o, s:o}", "avg_processing_time",
                       known_or_zero(metrics->processing_time_s), "throughput_per_hour",
                       known_or_zero(metrics->throughput_per_hour), "success_rate",
                       known_or_zero(metrics->success_rate)));
    json_put(answer, "resource_metrics",
             json_pack("{s:o, s:o, s:o}", "avg_gpu_utilization",
                       known_or_zero(metrics->gpu_percent), "memory_usage_percent",
                       known_or_zero(metrics->memory_percent), "cpu_usage_percent",
                       known_or_zero(metrics->cpu_percent)));
    json_put(answer, "queue_metrics",
             json_pack("{s:I, s:I, s:I}", "pending_tasks", (json_int_t)metrics->pending,
                       "active_tasks", (json_int_t)metrics->active, "completed_tasks",
                       (json_int_t)metrics->completed));
    json_put(answer, "error_metrics",
             json_pack("{s:I, s:I, s:I}", "compilation_errors",
                       (json_int_t)metrics->compilation_errors, "runtime_errors",
                       (json_int_t)metrics->runtime_errors, "timeout_errors",
                       (json_int_t)metrics->timeout_errors));
    return answer;
}

json_t *kernelgym_queue(int64_t high, int64_t normal, int64_t low)
{
    json_int_t all = high + normal + low;
    return json_pack("{s:I, s:{s:I}, s:{s:I, s:I, s:I}, s:{}}", "pending", all, "pending_by_prefix",
                     "warpgym", all, "pending_by_priority", "high", (json_int_t)high, "normal",
                     (json_int_t)normal, "low", (json_int_t)low, "worker_queues");
}

static json_t *worker_json(const struct kernelgym_worker *worker, bool health)
{
    json_t *answer = json_object();
    json_put(answer, "device", json_text(worker->device));
    json_put(answer, "status", json_text(worker->status));
    json_put(answer, "last_heartbeat", json_time(worker->heartbeat_ms));
    json_put(answer, "node_id", json_text(worker->node_id));
    json_put(answer, "hostname", json_text(worker->hostname));
    if (!health)
        return answer;
    json_put(answer, "cuda_error_shutdown", json_boolean(worker->shutdown_reason != NULL));
    if (worker->shutdown_reason) {
        json_put(answer, "shutdown_reason", json_text(worker->shutdown_reason));
        json_put(answer, "shutdown_time", json_time(worker->shutdown_ms));
    }
    return answer;
}

json_t *kernelgym_workers(const struct kernelgym_worker *workers, size_t count, bool health)
{
    json_t *map = json_object();
    for (size_t i = 0; i < count; i++)
        json_put(map, workers[i].id, worker_json(&workers[i], health));
    return health ? json_pack("{s:s, s:o}", "status", "success", "workers", map) : map;
}

#define QUERY(key, member, needed)                                                                 \
    {                                                                                              \
        .name = key, .kind = FIELD_TEXT, .required = (needed), .low = (needed) ? 1 : 0,            \
        .offset = offsetof(struct kernelgym_node_query, member)                                    \
    }

static int parse_query(const json_t *query, const struct kernelgym_field *fields, size_t count,
                       void *out, int64_t now_ms, struct kernelgym_reply *reply)
{
    json_t *errors = json_array();
    json_t *at = json_pack("[s]", "query");
    json_t *none = json_object();
    kernelgym_fields_read(query ? query : none, at, fields, count, FIELDS_CHECKED, out, errors);
    json_decref(at);
    json_decref(none);
    if (json_array_size(errors) > 0)
        return kernelgym_refuse_request(reply, errors, now_ms);
    json_decref(errors);
    return 0;
}

int kernelgym_node_parse(const json_t *query, int64_t now_ms, struct kernelgym_node_query *out,
                         struct kernelgym_reply *reply)
{
    static const struct kernelgym_field fields[] = {QUERY("hostname", hostname, true),
                                                    QUERY("node_name", node_name, false)};
    *out = (struct kernelgym_node_query){0};
    return parse_query(query, fields, COUNT(fields), out, now_ms, reply);
}

int kernelgym_worker_parse(const json_t *query, bool wants_device, int64_t now_ms,
                           struct kernelgym_node_query *out, struct kernelgym_reply *reply)
{
    const struct kernelgym_field fields[] = {QUERY("worker_id", worker_id, true),
                                             QUERY("device", device, wants_device),
                                             QUERY("node_id", node_id, false),
                                             QUERY("hostname", hostname, false)};
    *out = (struct kernelgym_node_query){0};
    return parse_query(query, fields, COUNT(fields), out, now_ms, reply);
}

void kernelgym_refuse_worker(struct kernelgym_reply *reply)
{
    (void)kernelgym_refuse(reply, 501, KERNELGYM_NO_CODE,
                           "workers of warpgym claim jobs from the queue and do not register: "
                           "start `warpgym worker --queue URL` on that machine");
}

json_t *kernelgym_node(const char *node_id, const char *hostname)
{
    return json_pack("{s:o, s:o}", "node_id", json_text(node_id), "hostname", json_text(hostname));
}

int kernelgym_problematic_parse(const json_t *query, int64_t now_ms, int64_t *min_errors,
                                struct kernelgym_reply *reply)
{
    static const struct kernelgym_field fields[] = {
        {.name = "min_errors", .kind = FIELD_INT, .number = 3, .low = 0, .high = INT64_MAX}};
    return parse_query(query, fields, 1, min_errors, now_ms, reply);
}

static int by_count(const void *a, const void *b)
{
    const struct kernelgym_code_errors *x = a;
    const struct kernelgym_code_errors *y = b;
    return (x->count < y->count) - (x->count > y->count);
}

json_t *kernelgym_problematic(const struct kernelgym_code_errors *codes, size_t count,
                              int64_t min_errors)
{
    struct kernelgym_code_errors *sorted = mem_alloc((count + 1) * sizeof *sorted);
    json_t *list = json_array();
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (codes[i].count >= min_errors)
            sorted[kept++] = codes[i];
    qsort(sorted, kept, sizeof *sorted, by_count);
    for (size_t i = 0; i < kept; i++)
        json_array_append_new(list, json_pack("{s:o, s:I}", "code_hash", json_text(sorted[i].hash),
                                              "error_count", (json_int_t)sorted[i].count));
    mem_free(sorted);
    return json_pack("{s:s, s:I, s:o, s:I}", "status", "success", "min_errors_threshold",
                     (json_int_t)min_errors, "problematic_codes", list, "total_count",
                     (json_int_t)kept);
}

json_t *kernelgym_retries(const struct kernelgym_retry *retries, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count && i < RETRIES_LISTED; i++)
        json_array_append_new(list,
                              json_pack("{s:o, s:I, s:o}", "task_id", json_text(retries[i].task_id),
                                        "retry_count", (json_int_t)retries[i].retries,
                                        "scheduled_for", json_time(retries[i].scheduled_ms)));
    return json_pack("{s:s, s:I, s:o}", "status", "success", "retry_queue_size", (json_int_t)count,
                     "next_retries", list);
}

json_t *kernelgym_cleared(const char *code_hash)
{
    char text[256];
    snprintf(text, sizeof text, "Error history of %.128s cleared", code_hash);
    return json_pack("{s:s, s:o}", "status", "success", "message", json_text(text));
}
