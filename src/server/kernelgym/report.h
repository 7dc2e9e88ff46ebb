/* kernelgym_report: KernelGYM's routes about the service itself, in its formats.
 *
 * Where the original always answers 0, or for the process that answers, the answers are those of
 * the whole queue. Workers are the registrations of worker_registry.h: untrusted, a field of
 * another type counts as absent.
 *
 * Ownership: new references; facts are borrowed. Pure functions; any thread. */
#pragma once

#include "device/machine_load.h"
#include "judge/verdict.h"
#include "queue/queue.h"
#include "server/kernelgym/reply.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* GET / */
json_t *kernelgym_root(int64_t now_ms);

struct kernelgym_facts {
    int64_t now_ms;
    const char *trouble; /* why it is not healthy; NULL: healthy */
    const json_t *workers;
    struct queue_stats stats;
    struct load load;
    double cpu_percent, uptime_s; /* negative: unknown */
};

/* GET /health: clients wait for `healthy`; "unhealthy" goes with 503 and the reason. Unknown values
 * are null. */
json_t *kernelgym_health(const struct kernelgym_facts *facts);
/* GET /metrics for clients that accept application/json. */
json_t *kernelgym_metrics(const struct kernelgym_facts *facts);
/* GET /queue/status */
json_t *kernelgym_queue(const struct queue_stats *stats);
/* GET /workers/status; with `health` GET /monitoring/worker-health. */
json_t *kernelgym_workers(const json_t *workers, bool health);

/* Of /node/allocate, /worker/…, /worker/register, /monitoring/problematic-codes. */
enum kernelgym_query_kind {
    KERNELGYM_NODE = 1,
    KERNELGYM_WORKER = 2,
    KERNELGYM_NEW_WORKER = 4,
    KERNELGYM_PROBLEMATIC = 8,
};

struct kernelgym_query { /* NULL: absent */
    const char *worker_id, *device, *node_id, *hostname, *node_name;
    int64_t min_errors; /* 3 if absent */
};

/* `query`: an object of texts, from which *out borrows. 400 in `reply` where the route requires
 * what it lacks: hostname; worker_id; for register also device. */
NODISCARD int kernelgym_query_parse(const json_t *query, enum kernelgym_query_kind kind,
                                    int64_t now_ms, struct kernelgym_query *out,
                                    struct kernelgym_reply *reply);
/* 501: workers of warpgym claim jobs from the queue and do not register; workers of KernelGYM
 * would find no jobs here. */
void kernelgym_refuse_worker(struct kernelgym_reply *reply);
json_t *kernelgym_node(const char *node_id, const char *hostname);

/* No history of errors is kept, and no retry is scheduled separately. */
json_t *kernelgym_problematic(int64_t min_errors);
json_t *kernelgym_retries(void);
/* POST /monitoring/clear-error-history/{code_hash} */
json_t *kernelgym_cleared(const char *code_hash);
