/* maintenance: the thread that reaps leases and old jobs, and refreshes what the service shows
 * of queue, workers and machine without asking for each request. */
#include "server/internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>

#define KEEP_MS 1000
#define EMPTY_MS 100 /* refresh interval while no worker claims jobs: one may have started */

static int refresh(struct service *service, struct err *err)
{
    struct queue_stats stats;
    uint64_t put = atomic_load(&service->put_since);
    int result = queue_stats(service->queue, &stats, err);
    if (result < 0)
        return result;
    atomic_fetch_sub(&service->put_since, put);
    pthread_mutex_lock(&service->maintenance_lock);
    service->stats = stats;
    service->stats_known = true;
    pthread_mutex_unlock(&service->maintenance_lock);
    return worker_registry_refresh(service->workers, service->queue, err);
}

int maintenance_refresh(struct service *service, struct err *err)
{
    pthread_mutex_lock(&service->refresh_lock);
    int result = refresh(service, err);
    pthread_mutex_unlock(&service->refresh_lock);
    return result;
}

bool service_stats(struct service *service, struct queue_stats *stats)
{
    pthread_mutex_lock(&service->maintenance_lock);
    bool known = service->stats_known;
    *stats = service->stats;
    pthread_mutex_unlock(&service->maintenance_lock);
    return known;
}

struct service_load service_load(struct service *service)
{
    pthread_mutex_lock(&service->maintenance_lock);
    struct service_load load = service->load;
    pthread_mutex_unlock(&service->maintenance_lock);
    return load;
}

static void measure_machine_load(struct service *service)
{
    struct load now;
    load_read(&now);
    pthread_mutex_lock(&service->maintenance_lock);
    double percent = load_cpu_percent(&service->load.now, &now);
    service->load = (struct service_load){.now = now, .cpu_percent = percent};
    pthread_mutex_unlock(&service->maintenance_lock);
}

static void log_queue_error(bool *away, const struct err *err)
{
    if (!*away)
        log_event(LOG_LEVEL_ERROR, "server", "cannot reach the queue", "why", err->text, NULL);
    *away = true;
}

/* `away`: the error was logged already. */
static void maintenance_run(struct service *service, bool *away)
{
    struct queue_reaping reaping = {.more = true};
    struct err err;
    uint64_t returned = 0, lost = 0;
    int result = 0;
    for (int i = 0; reaping.more && result == 0 && i < 10; i++) {
        result = queue_reap(service->queue, &reaping, &err);
        returned += result == 0 ? reaping.returned : 0;
        lost += result == 0 ? reaping.lost : 0;
    }
    if (returned + lost > 0) {
        char counts[2][24];
        snprintf(counts[0], sizeof counts[0], "%llu", (unsigned long long)returned);
        snprintf(counts[1], sizeof counts[1], "%llu", (unsigned long long)lost);
        log_event(LOG_LEVEL_WARN, "server", "requeued jobs of silent workers", "queued_again",
                  counts[0], "given_up", counts[1], NULL);
    }
    if (result == 0)
        result = maintenance_refresh(service, &err);
    if (result < 0)
        log_queue_error(away, &err);
    else if (*away) {
        *away = false;
        log_event(LOG_LEVEL_WARN, "server", "the queue answers again", NULL);
    }
}

/* False: stopping. */
static bool maintenance_wait(struct service *service)
{
    int64_t pause_ms = worker_registry_count(service->workers, false) > 0 ? KEEP_MS : EMPTY_MS;
    int64_t until_ns = clock_now_ns() + pause_ms * 1000000;
    struct timespec until = clock_timespec(until_ns);
    int result = 0;
    pthread_mutex_lock(&service->maintenance_lock);
    while (!service->quit && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&service->maintenance_wake, &service->maintenance_lock,
                                        &until);
    bool on = !service->quit;
    pthread_mutex_unlock(&service->maintenance_lock);
    return on;
}

static void *maintenance_main(void *argument)
{
    struct service *service = argument;
    bool away = false;
    while (maintenance_wait(service)) {
        measure_machine_load(service);
        maintenance_run(service, &away);
    }
    return NULL;
}

int maintenance_start(struct service *service, struct err *err)
{
    service->load.cpu_percent = -1;
    load_read(&service->load.now);
    int code = pthread_create(&service->maintenance_thread, NULL, maintenance_main, service);
    service->maintenance_started = code == 0;
    return code == 0 ? 0 : err_sys(err, code, "cannot start the server's maintenance thread");
}

void maintenance_stop(struct service *service)
{
    if (!service->maintenance_started)
        return;
    pthread_mutex_lock(&service->maintenance_lock);
    service->quit = true;
    pthread_cond_signal(&service->maintenance_wake);
    pthread_mutex_unlock(&service->maintenance_lock);
    pthread_join(service->maintenance_thread, NULL);
    service->maintenance_started = false;
}

enum row {
    ROW_DEPTH,
    ROW_OLDEST,
    ROW_RUNNING,
    ROW_KEPT,
    ROW_ENDED,
    ROW_LOST,
    ROW_DOCUMENTS,
    ROW_WORKERS,
    ROW_COUNT
};

/* Ended jobs and lost leases are counted by the store, for all servers on it: gauges, so that
 * sums over servers do not count them twice. */
static const struct metric rows[] = {
    [ROW_DEPTH] = METRIC_GAUGE_ROW("warpgym_queue_depth", "Queued jobs", "priority"),
    [ROW_OLDEST] = METRIC_GAUGE_ROW("warpgym_queue_oldest_seconds",
                                    "How long the oldest queued job has waited", "priority"),
    [ROW_RUNNING] = METRIC_GAUGE_ROW("warpgym_queue_running", "Running jobs", NULL),
    [ROW_KEPT] = METRIC_GAUGE_ROW("warpgym_queue_kept", "Ended jobs whose records are kept", NULL),
    [ROW_ENDED] = METRIC_GAUGE_ROW("warpgym_queue_ended_jobs",
                                   "Jobs that ended since the queue was made", "outcome"),
    [ROW_LOST] = METRIC_GAUGE_ROW("warpgym_queue_lost_leases",
                                  "Jobs whose lease expired, since the queue was made", NULL),
    [ROW_DOCUMENTS] = METRIC_GAUGE_ROW("warpgym_queue_documents",
                                       "Documents that the queue keeps (episodes)", NULL),
    [ROW_WORKERS] = METRIC_GAUGE_ROW("warpgym_workers", "Workers that claim jobs", "kind"),
};

static void metrics_refresh(void *context)
{
    struct service *service = context;
    struct queue_stats stats;
    const char *const none[METRIC_LABELS] = {NULL};
    if (service_stats(service, &stats)) {
        for (int i = 0; i < QUEUE_PRIORITIES; i++) {
            const char *const labels[] = {evaluation_priority_name((enum queue_priority)i)};
            metrics_set(service->metrics, ROW_DEPTH, labels, (double)stats.priorities[i].depth);
            metrics_set(service->metrics, ROW_OLDEST, labels,
                        1e-3 * (double)stats.priorities[i].oldest_ms);
        }
        metrics_set(service->metrics, ROW_RUNNING, none, (double)stats.running);
        metrics_set(service->metrics, ROW_KEPT, none, (double)stats.kept);
        metrics_set(service->metrics, ROW_LOST, none, (double)stats.lost_leases);
        metrics_set(service->metrics, ROW_DOCUMENTS, none, (double)stats.documents);
        for (size_t i = 0; i < stats.ended_count; i++)
            metrics_set(service->metrics, ROW_ENDED, (const char *[]){stats.ended[i].outcome},
                        (double)stats.ended[i].count);
    }
    size_t all = worker_registry_count(service->workers, false),
           gpu = worker_registry_count(service->workers, true);
    metrics_set(service->metrics, ROW_WORKERS, (const char *[]){"gpu"}, (double)gpu);
    metrics_set(service->metrics, ROW_WORKERS, (const char *[]){"cpu"}, (double)(all - gpu));
}

void maintenance_add_metrics(struct service *service)
{
    service->metrics = metrics_add(service->options.metrics, rows, ROW_COUNT);
    metrics_on_render(service->options.metrics, metrics_refresh, service);
}
