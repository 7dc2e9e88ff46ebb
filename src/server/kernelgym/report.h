/* kernelgym_report: the routes of KernelGYM that tell of the service itself, in its shapes.
 *
 * The caller gathers the facts, these functions only word them. Where the original always answers
 * 0, or for the process that happened to be asked, the facts are those of the whole queue.
 *
 * Ownership: new references; facts are borrowed. Pure functions; any thread.
 */
#ifndef WARPGYM_SERVER_KERNELGYM_REPORT_H
#define WARPGYM_SERVER_KERNELGYM_REPORT_H

#include "server/kernelgym/reply.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* GET / */
json_t *kernelgym_root(int64_t now_ms);

/* What nobody knows is negative, and null in the answer. */
struct kernelgym_gpu {
    const char *device; /* "cuda:0" */
    const char *name;
    double memory_total_bytes, memory_used_bytes;
    bool available;
    const char *error; /* why not; NULL */
};

struct kernelgym_health {
    int64_t now_ms;
    const char *trouble; /* why it is not healthy; NULL: it is */
    const struct kernelgym_gpu *gpus;
    size_t gpu_count;
    int64_t pending, processing, completed;
    double cpu_percent, memory_percent, memory_available_bytes, memory_total_bytes;
    double uptime_s;
};

/* GET /health: `healthy` is what clients wait for; "unhealthy" goes with 503 and says why. */
json_t *kernelgym_health(const struct kernelgym_health *health);

struct kernelgym_metrics {
    int64_t now_ms;
    double processing_time_s, throughput_per_hour, success_rate; /* negative: not known yet */
    double gpu_percent, memory_percent, cpu_percent;
    int64_t pending, active, completed;
    int64_t compilation_errors, runtime_errors, timeout_errors;
};

/* GET /metrics for who accepts application/json. */
json_t *kernelgym_metrics(const struct kernelgym_metrics *metrics);

/* GET /queue/status */
json_t *kernelgym_queue(int64_t high, int64_t normal, int64_t low);

struct kernelgym_worker {
    const char *id, *device, *status, *node_id, *hostname; /* status: "online", "offline" */
    int64_t heartbeat_ms;
    const char *shutdown_reason; /* a device that was taken out of use; NULL */
    int64_t shutdown_ms;
};

/* GET /workers/status; with `health` GET /monitoring/worker-health. */
json_t *kernelgym_workers(const struct kernelgym_worker *workers, size_t count, bool health);

/* The query of /worker/… and /node/allocate, an object of texts. */
struct kernelgym_node_query {
    const char *worker_id, *device, *node_id, *hostname, *node_name; /* NULL where absent */
};

/* POST /node/allocate: hostname is required. 400 in `reply` otherwise. */
NODISCARD int kernelgym_node_parse(const json_t *query, int64_t now_ms,
                                   struct kernelgym_node_query *out, struct kernelgym_reply *reply);
/* POST /worker/…: worker_id is required, and for register the device. */
NODISCARD int kernelgym_worker_parse(const json_t *query, bool wants_device, int64_t now_ms,
                                     struct kernelgym_node_query *out,
                                     struct kernelgym_reply *reply);
/* Workers of warpgym take jobs from the queue and register with nobody; workers of KernelGYM's
 * would find none here. 501 says so. */
void kernelgym_refuse_worker(struct kernelgym_reply *reply);
json_t *kernelgym_node(const char *node_id, const char *hostname);

/* GET /monitoring/problematic-codes: min_errors, 3 where it is absent. */
NODISCARD int kernelgym_problematic_parse(const json_t *query, int64_t now_ms, int64_t *min_errors,
                                          struct kernelgym_reply *reply);

struct kernelgym_code_errors {
    const char *hash;
    int64_t count;
};

/* Those with fewer errors are left out; the most come first. */
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

#endif
