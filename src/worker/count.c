/* count: the worker's metrics. Declared in slot.h. */
#include "worker/slot.h"

#include <string.h>

enum { ENDED, STAGES, LAYERS_MISSING, COUNTERS };

static const struct metric rows[COUNTERS] = {
    [ENDED] = {"warpgym_worker_jobs_total",
               "Jobs that this process judged, by the verdict's status",
               METRIC_COUNTER,
               {"status"},
               NULL,
               0},
    [STAGES] = {"warpgym_worker_stage_seconds",
                "What each stage of judging took, by stage",
                METRIC_HISTOGRAM,
                {"stage"},
                metric_seconds,
                METRIC_SECONDS},
    [LAYERS_MISSING] = {"warpgym_worker_sandbox_missing_total",
                        "Verdicts during which a layer of the sandbox was missing, by layer",
                        METRIC_COUNTER,
                        {"layer"},
                        NULL,
                        0},
};

struct metric_table *worker_count_open(struct metrics *metrics)
{
    return metrics ? metrics_add(metrics, rows, COUNTERS) : NULL;
}

static void count_stages(struct metric_table *table, const json_t *verdict)
{
    json_t *stages = json_object_get(verdict, "stages_ms");
    const char *name;
    json_t *ms;
    json_object_foreach(stages, name, ms)
        metrics_observe(table, STAGES, (const char *[]){name}, json_number_value(ms) * 1e-3);
}

static void count_missing(struct metric_table *table, const json_t *verdict)
{
    const json_t *environment = json_object_get(verdict, "environment");
    const json_t *sandbox = json_object_get(environment, "sandbox");
    const json_t *missing = json_object_get(sandbox, "missing");
    size_t index;
    json_t *layer;
    json_array_foreach(missing, index, layer)
        metrics_count(table, LAYERS_MISSING, (const char *[]){json_string_value(layer)}, 1);
}

static void count_status(struct worker *worker, const char *status)
{
    pthread_mutex_lock(&worker->lock);
    for (int i = 0; i < STATUS_COUNT; i++)
        worker->tally.ended[i] += strcmp(verdict_status_name(i), status) == 0;
    pthread_mutex_unlock(&worker->lock);
    metrics_count(worker->metrics, ENDED, (const char *[]){status}, 1);
}

void worker_count(struct worker *worker, const json_t *verdict)
{
    count_status(worker, json_string_value(json_object_get(verdict, "status")));
    count_stages(worker->metrics, verdict);
    count_missing(worker->metrics, verdict);
}
