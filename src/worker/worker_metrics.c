/* worker_metrics: the worker's metrics. */
#include "worker/internal.h"

#include "judge/devices.h"

#include <stdio.h>
#include <string.h>

enum {
    ENDED,
    STAGES,
    LAYERS,
    LAYERS_MISSING,
    DEVICE_GOOD,
    DEVICE_BUSY,
    DEVICE_EXCLUSIVE,
    DEVICE_READY,
    STANDBY,
    COUNTERS
};

static const struct metric rows[COUNTERS] = {
    [ENDED] = {"warpgym_worker_jobs_total",
               "Jobs that this process evaluated, by the verdict's status",
               METRIC_COUNTER,
               {"status"},
               NULL,
               0},
    [STAGES] = {"warpgym_worker_stage_seconds",
                "Duration of each stage of an evaluation, by stage",
                METRIC_HISTOGRAM,
                {"stage"},
                metric_seconds,
                METRIC_SECONDS},
    [LAYERS] = METRIC_GAUGE_ROW(
        "warpgym_sandbox_layer",
        "1: the layer was in effect around the last candidate evaluated here", "layer"),
    [LAYERS_MISSING] = {"warpgym_worker_sandbox_missing_total",
                        "Verdicts for which a layer of the sandbox was missing, by layer",
                        METRIC_COUNTER,
                        {"layer"},
                        NULL,
                        0},
    [DEVICE_GOOD] = METRIC_GAUGE_ROW("warpgym_device_good", "0: the device is quarantined",
                                     "device"),
    [DEVICE_BUSY] =
        METRIC_GAUGE_ROW("warpgym_device_busy_seconds",
                         "Time for which the device was held, since the process started", "device"),
    [DEVICE_EXCLUSIVE] = METRIC_GAUGE_ROW(
        "warpgym_device_exclusive_seconds",
        "Time for which the device was held exclusively, mostly to time", "device"),
    [DEVICE_READY] = METRIC_GAUGE_ROW("warpgym_device_ready_processes",
                                      "Warm processes with a context on the device", "device"),
    [STANDBY] = METRIC_GAUGE_ROW("warpgym_standby_ready",
                                 "1: its libraries are in memory, and a child starts with a fork",
                                 "kind"),
};

/* The CPU has no ordinal. */
static void device_metrics_set(struct metric_table *table, const struct judge_device *device)
{
    char name[32] = "cpu";
    const char *const labels[] = {name};
    if (device->gpu)
        snprintf(name, sizeof name, "cuda:%d", device->ordinal);
    metrics_set(table, DEVICE_GOOD, labels, device->good);
    metrics_set(table, DEVICE_BUSY, labels, device->busy_s);
    metrics_set(table, DEVICE_EXCLUSIVE, labels, device->exclusive_s);
    if (device->gpu)
        metrics_set(table, DEVICE_READY, labels, device->ready);
}

static void metrics_refresh(void *context)
{
    struct worker *worker = context;
    struct judge_device devices[JUDGE_DEVICES];
    struct judge_standby standbys[JUDGE_STANDBYS];
    size_t count = judge_devices(worker->judge, devices);
    for (size_t i = 0; i < count; i++)
        device_metrics_set(worker->metrics, &devices[i]);
    count = judge_standbys(worker->judge, standbys);
    for (size_t i = 0; i < count; i++)
        metrics_set(worker->metrics, STANDBY, (const char *[]){standbys[i].name},
                    standbys[i].state == STANDBY_READY);
}

void worker_metrics_open(struct worker *worker)
{
    struct metrics *metrics = worker->options.metrics;
    if (!metrics)
        return;
    worker->metrics = metrics_add(metrics, rows, COUNTERS);
    metrics_on_render(metrics, metrics_refresh, worker);
}

static void count_stages(struct metric_table *table, const struct verdict *verdict)
{
    for (int i = 0; i < STAGE_COUNT; i++)
        metrics_observe(table, STAGES, (const char *[]){verdict_stage_name(i)},
                        verdict->stages_ms[i] * 1e-3);
}

static void count_layers(struct metric_table *table, const struct verdict *verdict)
{
    json_t *missing = verdict_layers_json(verdict, false);
    json_t *held = verdict_layers_json(verdict, true);
    size_t index;
    json_t *layer;
    json_array_foreach(held, index, layer)
        metrics_set(table, LAYERS, (const char *[]){json_string_value(layer)}, 1);
    json_array_foreach(missing, index, layer)
    {
        const char *const labels[] = {json_string_value(layer)};
        metrics_set(table, LAYERS, labels, 0);
        metrics_count(table, LAYERS_MISSING, labels, 1);
    }
    json_decref(held);
    json_decref(missing);
}

void worker_metrics_record(struct worker *worker, const struct verdict *verdict)
{
    pthread_mutex_lock(&worker->lock);
    worker->tally.ended[verdict->status]++;
    pthread_mutex_unlock(&worker->lock);
    metrics_count(worker->metrics, ENDED, (const char *[]){verdict_status_name(verdict->status)},
                  1);
    if (!verdict_was_judged(verdict))
        return;
    count_stages(worker->metrics, verdict);
    count_layers(worker->metrics, verdict);
}
