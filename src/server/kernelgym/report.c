#include "server/kernelgym/report.h"

#include "base/array.h"
#include "base/json.h"
#include "server/kernelgym/fields.h"

#include <stdio.h>
#include <string.h>

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

/* A text of an untrusted registration, or null. */
static json_t *text_or_null(const json_t *object, const char *key)
{
    return json_text(json_string_value(json_object_get(object, key)));
}

static bool is_quarantined(const json_t *device)
{
    return strcmp(json_text_at(device, "state"), "quarantined") == 0;
}

static bool is_gpu(const json_t *device)
{
    return strcmp(json_text_at(device, "kind"), "cuda") == 0;
}

/* Workers do not report how much of the memory is in use. */
static json_t *gpu_json(const json_t *device)
{
    const json_t *bytes = json_object_get(device, "memory_bytes");
    json_t *answer = json_object();
    if (json_is_string(json_object_get(device, "why")))
        json_put(answer, "error", text_or_null(device, "why"));
    json_put(answer, "name", text_or_null(device, "name"));
    json_put(answer, "memory_total",
             json_known(json_is_number(bytes) ? json_number_value(bytes) : -1));
    json_put(answer, "memory_allocated", json_null());
    json_put(answer, "memory_reserved", json_null());
    json_put(answer, "memory_used_percent", json_null());
    json_put(answer, "available", json_boolean(!is_quarantined(device)));
    return answer;
}

/* GPUs of all machines; cuda:N numbers them in the order of their workers. */
static json_t *gpus_json(const json_t *workers)
{
    json_t *gpus = json_object(), *worker, *device;
    size_t i, j;
    json_array_foreach(workers, i, worker)
    {
        json_array_foreach(json_object_get(worker, "devices"), j, device)
        {
            char name[32];
            snprintf(name, sizeof name, "cuda:%zu", json_object_size(gpus));
            if (is_gpu(device))
                json_put(gpus, name, gpu_json(device));
        }
    }
    return gpus;
}

static json_int_t count_pending(const struct queue_stats *stats)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < QUEUE_PRIORITIES; i++)
        sum += stats->priorities[i].depth;
    return (json_int_t)sum;
}

/* STATUS_COUNT: with any. */
static json_int_t count_ended(const struct queue_stats *stats, enum verdict_status status)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < stats->ended_count; i++)
        if (status == STATUS_COUNT || verdict_status_named(stats->ended[i].outcome) == status)
            sum += stats->ended[i].count;
    return (json_int_t)sum;
}

static json_t *bytes_or_null(uint64_t of, uint64_t bytes)
{
    return of > 0 ? json_integer((json_int_t)bytes) : json_null();
}

json_t *kernelgym_health(const struct kernelgym_facts *facts)
{
    const struct load *load = &facts->load;
    json_int_t running = (json_int_t)facts->stats.running;
    json_int_t ended = count_ended(&facts->stats, STATUS_COUNT);
    json_t *answer = json_object();
    json_put(answer, "status", json_text(facts->trouble ? "unhealthy" : "healthy"));
    if (facts->trouble)
        json_put(answer, "detail", json_text(facts->trouble));
    json_put(answer, "timestamp", json_time(facts->now_ms));
    json_put(answer, "gpu_status", gpus_json(facts->workers));
    json_put(answer, "queue_status",
             json_pack("{s:I, s:I, s:I}", "pending", count_pending(&facts->stats), "processing",
                       running, "completed", ended));
    json_put(answer, "memory_usage",
             json_pack("{s:o, s:o, s:o, s:o}", "cpu_percent", json_known(facts->cpu_percent),
                       "memory_percent", json_known(load_memory_percent(load)), "memory_available",
                       bytes_or_null(load->memory, load->memory_available), "memory_total",
                       bytes_or_null(load->memory, load->memory)));
    json_put(answer, "active_tasks", json_integer(running));
    json_put(answer, "total_processed", json_integer(ended));
    json_put(answer, "uptime", json_known(facts->uptime_s));
    return answer;
}

/* Clients expect numbers here: unknown values are 0. */
static json_t *known_or_zero(double value)
{
    return json_real(value > 0 ? value : 0.0);
}

/* This server's share of the time and throughput of all workers would mislead: those are 0. */
json_t *kernelgym_metrics(const struct kernelgym_facts *facts)
{
    const struct queue_stats *stats = &facts->stats;
    json_int_t ended = count_ended(stats, STATUS_COUNT);
    double passed = (double)count_ended(stats, STATUS_PASSED);
    json_t *answer = json_object();
    json_put(answer, "timestamp", json_time(facts->now_ms));
    json_put(answer, "performance_metrics",
             json_pack("{s:f, s:f, s:o}", "avg_processing_time", 0.0, "throughput_per_hour", 0.0,
                       "success_rate", known_or_zero(ended > 0 ? passed / (double)ended : 0)));
    json_put(answer, "resource_metrics",
             json_pack("{s:f, s:o, s:o}", "avg_gpu_utilization", 0.0, "memory_usage_percent",
                       known_or_zero(load_memory_percent(&facts->load)), "cpu_usage_percent",
                       known_or_zero(facts->cpu_percent)));
    json_put(answer, "queue_metrics",
             json_pack("{s:I, s:I, s:I}", "pending_tasks", count_pending(stats), "active_tasks",
                       (json_int_t)stats->running, "completed_tasks", ended));
    json_put(answer, "error_metrics",
             json_pack("{s:I, s:I, s:I}", "compilation_errors",
                       count_ended(stats, STATUS_COMPILE_ERROR) +
                           count_ended(stats, STATUS_LOAD_ERROR),
                       "runtime_errors", count_ended(stats, STATUS_RUNTIME_ERROR), "timeout_errors",
                       count_ended(stats, STATUS_TIMEOUT)));
    return answer;
}

json_t *kernelgym_queue(const struct queue_stats *stats)
{
    json_int_t all = count_pending(stats);
    json_int_t normal = (json_int_t)stats->priorities[QUEUE_NORMAL].depth;
    json_int_t low = (json_int_t)stats->priorities[QUEUE_LOW].depth;
    return json_pack("{s:I, s:{s:I}, s:{s:I, s:I, s:I}, s:{}}", "pending", all, "pending_by_prefix",
                     "warpgym", all, "pending_by_priority", "high", all - normal - low, "normal",
                     normal, "low", low, "worker_queues");
}

static json_t *worker_json(const json_t *worker, bool health)
{
    const json_t *quarantined = NULL;
    bool gpu = false, draining = json_is_true(json_object_get(worker, "draining"));
    json_t *answer = json_object(), *device;
    size_t i;
    json_array_foreach(json_object_get(worker, "devices"), i, device)
    {
        gpu = gpu || is_gpu(device);
        if (!quarantined && is_quarantined(device))
            quarantined = device;
    }
    json_put(answer, "device", json_text(gpu ? "cuda:0" : "cpu"));
    json_put(answer, "status", json_text(draining ? "offline" : "online"));
    json_put(answer, "last_heartbeat", text_or_null(worker, "heartbeat_at"));
    json_put(answer, "node_id", text_or_null(worker, "host"));
    json_put(answer, "hostname", text_or_null(worker, "host"));
    if (!health)
        return answer;
    json_put(answer, "cuda_error_shutdown", json_boolean(quarantined));
    if (quarantined) {
        const char *why = json_text_at(quarantined, "why");
        json_put(answer, "shutdown_reason", json_text(*why ? why : "quarantined"));
        json_put(answer, "shutdown_time", text_or_null(worker, "heartbeat_at"));
    }
    return answer;
}

json_t *kernelgym_workers(const json_t *workers, bool health)
{
    json_t *map = json_object(), *worker;
    size_t i;
    json_array_foreach(workers, i, worker)
    {
        json_put(map, json_text_at(worker, "name"), worker_json(worker, health));
    }
    return health ? json_pack("{s:s, s:o}", "status", "success", "workers", map) : map;
}

#define TEXT(key, member, may, must)                                                               \
    {                                                                                              \
        {.name = key, .kind = FIELD_TEXT, .offset = offsetof(struct kernelgym_query, member)},     \
            (may), (must)                                                                          \
    }

int kernelgym_query_parse(const json_t *query, enum kernelgym_query_kind kind, int64_t now_ms,
                          struct kernelgym_query *out, struct kernelgym_reply *reply)
{
    enum { WORKERS = KERNELGYM_WORKER | KERNELGYM_NEW_WORKER };
    static const struct {
        struct kernelgym_field field;
        unsigned may, must; /* of enum kernelgym_query_kind */
    } rows[] = {
        TEXT("worker_id", worker_id, WORKERS, WORKERS),
        TEXT("device", device, WORKERS, KERNELGYM_NEW_WORKER),
        TEXT("node_id", node_id, WORKERS, 0),
        TEXT("hostname", hostname, WORKERS | KERNELGYM_NODE, KERNELGYM_NODE),
        TEXT("node_name", node_name, KERNELGYM_NODE, 0),
        {{.name = "min_errors",
          .kind = FIELD_INT,
          .offset = offsetof(struct kernelgym_query, min_errors),
          .number = 3,
          .high = INT64_MAX},
         KERNELGYM_PROBLEMATIC,
         0},
    };
    struct kernelgym_field fields[COUNT(rows)];
    json_t *errors = json_array(), *at = json_pack("[s]", "query");
    size_t count = 0;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].may & kind) {
            fields[count] = rows[i].field;
            fields[count].required = rows[i].must & kind;
            fields[count].low = fields[count].required;
            count++;
        }
    *out = (struct kernelgym_query){0};
    kernelgym_fields_read(query, at, fields, count, FIELDS_CHECKED, out, errors);
    json_decref(at);
    return kernelgym_refuse_request(reply, errors, now_ms);
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

json_t *kernelgym_problematic(int64_t min_errors)
{
    return json_pack("{s:s, s:I, s:[], s:i}", "status", "success", "min_errors_threshold",
                     (json_int_t)min_errors, "problematic_codes", "total_count", 0);
}

json_t *kernelgym_retries(void)
{
    return json_pack("{s:s, s:i, s:[]}", "status", "success", "retry_queue_size", 0,
                     "next_retries");
}

json_t *kernelgym_cleared(const char *code_hash)
{
    char text[256];
    snprintf(text, sizeof text, "Error history of %.128s cleared", code_hash);
    return json_pack("{s:s, s:o}", "status", "success", "message", json_text(text));
}
