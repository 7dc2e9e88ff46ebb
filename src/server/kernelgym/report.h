/* kernelgym_report: KernelGYM's routes about the service itself, in its formats.
 *
 * The caller passes the facts, these functions format them. Where the original always answers 0,
 * or for the process that answers, the facts are those of the whole queue.
 *
 * Ownership: new references; facts are borrowed. Pure functions; any thread. */
#pragma once

#include "server/kernelgym/reply.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* GET / */
json_t *kernelgym_root(int64_t now_ms);

/* Unknown values are negative, and null in the answer. */
struct kernelgym_gpu {
    const char *device; /* "cuda:0" */
    const char *name;
    double memory_total_bytes, memory_used_bytes;
    bool available;
    const char *error; /* why not; NULL */
};

struct kernelgym_health {
    int64_t now_ms;
    const char *trouble; /* why it is not healthy; NULL: healthy */
    const struct kernelgym_gpu *gpus;
    size_t gpu_count;
    int64_t pending, processing, completed;
    double cpu_percent, memory_percent, memory_available_bytes, memory_total_bytes;
    double uptime_s;
};

/* GET /health: clients wait for `healthy`; "unhealthy" goes with 503 and the reason. */
json_t *kernelgym_health(const struct kernelgym_health *health);

struct kernelgym_metrics {
    int64_t now_ms;
    double processing_time_s, throughput_per_hour, success_rate; /* negative: unknown */
    double gpu_percent, memory_percent, cpu_percent;
    int64_t pending, active, completed;
    int64_t compilation_errors, runtime_errors, timeout_errors;
};

/* GET /metrics for clients that accept application/json. */
json_t *kernelgym_metrics(const struct kernelgym_metrics *metrics);

/* GET /queue/status */
json_t *kernelgym_queue(int64_t high, int64_t normal, int64_t low);

struct kernelgym_worker {
    const char *id, *device, *status, *node_id, *hostname; /* status: "online", "offline" */
    int64_t heartbeat_ms;
    const char *shutdown_reason; /* of a device taken out of service; NULL */
    int64_t shutdown_ms;
};

/* GET /workers/status; with `health` GET /monitoring/worker-health. */
json_t *kernelgym_workers(const struct kernelgym_worker *workers, size_t count, bool health);

/* The query of /worker/… and /node/allocate, an object of texts. */
struct kernelgym_node_query {
    const char *worker_id, *device, *node_id, *hostname, *node_name; /* NULL if absent */
};

/* POST /node/allocate: hostname is required. 400 in `reply` otherwise. */
NODISCARD int kernelgym_node_parse(const json_t *query, int64_t now_ms,
                                   struct kernelgym_node_query *out, struct kernelgym_reply *reply);
/* POST /worker/…: worker_id is required, and for register the device. */
NODISCARD int kernelgym_worker_parse(const json_t *query, bool wants_device, int64_t now_ms,
                                     struct kernelgym_node_query *out,
                                     struct kernelgym_reply *reply);
/* 501: workers of warpgym claim jobs from the queue and do not register; workers of KernelGYM
 * would find no jobs here. */
void kernelgym_refuse_worker(struct kernelgym_reply *reply);
json_t *kernelgym_node(const char *node_id, const char *hostname);

/* GET /monitoring/problematic-codes: min_errors, 3 if absent. */
NODISCARD int kernelgym_problematic_parse(const json_t *query, int64_t now_ms, int64_t *min_errors,
                                          struct kernelgym_reply *reply);

struct kernelgym_code_errors {
    const char *hash;
    int64_t count;
};

/* Leaves out codes with fewer errors; most errors first. */
json_t *kernelgym_problematic(const struct kernelgym_code_errors *codes, size_t count,
                              int64_t min_errors);

struct kernelgym_retry {
    const char *task_id;
    int64_t retries, scheduled_ms;
};

/* GET /monitoring/retry-queue; the first 10 are listed. */
json_t *kernelgym_retries(const struct kernelgym_retry *retries, size_t count);
/* POST /monitoring/clear-error-history/{code_hash} */
json_t *kernelgym_cleared(const char *code_hash);
