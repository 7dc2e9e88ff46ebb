/* keeper: the thread that keeps house for a service: leases that ran out, old jobs, and what is to
 * be known of queue and workers without asking them for each request. Declared in
 * service_internal.h. */
#include "server/service_internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KEEP_MS 1000
#define EMPTY_MS 100 /* where nobody takes jobs: somebody may have come */

int keeper_look(struct service *service, struct err *err)
{
    struct queue_stats stats;
    uint64_t put = atomic_load(&service->put_since);
    int result = queue_stats(service->queue, &stats, err);
    if (result < 0)
        return result;
    atomic_fetch_sub(&service->put_since, put);
    pthread_mutex_lock(&service->keeper_lock);
    service->stats = stats;
    service->stats_known = true;
    pthread_mutex_unlock(&service->keeper_lock);
    return fleet_refresh(service->fleet, service->queue, err);
}

bool service_stats(struct service *service, struct queue_stats *stats)
{
    pthread_mutex_lock(&service->keeper_lock);
    bool known = service->stats_known;
    *stats = service->stats;
    pthread_mutex_unlock(&service->keeper_lock);
    return known;
}

struct service_load service_load(struct service *service)
{
    pthread_mutex_lock(&service->keeper_lock);
    struct service_load load = service->load;
    pthread_mutex_unlock(&service->keeper_lock);
    return load;
}

static void look_at_machine(struct service *service)
{
    struct load now;
    load_read(&now);
    pthread_mutex_lock(&service->keeper_lock);
    double percent = load_cpu_percent(&service->load.now, &now);
    service->load = (struct service_load){.now = now, .cpu_percent = percent};
    pthread_mutex_unlock(&service->keeper_lock);
}

static void complain(bool *away, const struct err *err)
{
    if (!*away)
        log_event(LOG_LEVEL_ERROR, "server", "the queue does not answer", "why", err->text, NULL);
    *away = true;
}

/* `away`: whether it was said already. */
static void keep(struct service *service, bool *away)
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
        log_event(LOG_LEVEL_WARN, "server", "workers went silent", "queued_again", counts[0],
                  "given_up", counts[1], NULL);
    }
    if (result == 0)
        result = keeper_look(service, &err);
    if (result < 0)
        complain(away, &err);
    else if (*away) {
        *away = false;
        log_event(LOG_LEVEL_WARN, "server", "the queue answers again", NULL);
    }
}

/* False: it is to end. */
static bool rest(struct service *service)
{
    int64_t pause_ms = fleet_taking(service->fleet, false) > 0 ? KEEP_MS : EMPTY_MS;
    int64_t until_ns = clock_now_ns() + pause_ms * 1000000;
    struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
    int result = 0;
    pthread_mutex_lock(&service->keeper_lock);
    while (!service->quit && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&service->keeper_wake, &service->keeper_lock, &until);
    bool on = !service->quit;
    pthread_mutex_unlock(&service->keeper_lock);
    return on;
}

static void *run(void *argument)
{
    struct service *service = argument;
    bool away = false;
    while (rest(service)) {
        look_at_machine(service);
        keep(service, &away);
    }
    return NULL;
}

int keeper_start(struct service *service, struct err *err)
{
    service->load.cpu_percent = -1;
    load_read(&service->load.now);
    int code = pthread_create(&service->keeper, NULL, run, service);
    service->keeping = code == 0;
    return code == 0 ? 0 : err_sys(err, code, "cannot start the server's housekeeping");
}

void keeper_stop(struct service *service)
{
    if (!service->keeping)
        return;
    pthread_mutex_lock(&service->keeper_lock);
    service->quit = true;
    pthread_cond_signal(&service->keeper_wake);
    pthread_mutex_unlock(&service->keeper_lock);
    pthread_join(service->keeper, NULL);
    service->keeping = false;
}

/* -------------------------------------------------------------------------------------- metrics */

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

/* Ends and lost leases are the store's, shared by all servers on it: gauges, so that nobody adds
 * them up over servers. */
static const struct metric rows[] = {
    [ROW_DEPTH] = METRIC_GAUGE_ROW("warpgym_queue_depth", "Jobs that wait", "priority"),
    [ROW_OLDEST] = METRIC_GAUGE_ROW("warpgym_queue_oldest_seconds",
                                    "How long the oldest job that waits has waited", "priority"),
    [ROW_RUNNING] = METRIC_GAUGE_ROW("warpgym_queue_running", "Jobs that workers hold", NULL),
    [ROW_KEPT] = METRIC_GAUGE_ROW("warpgym_queue_kept", "Ended jobs that are still there", NULL),
    [ROW_ENDED] = METRIC_GAUGE_ROW("warpgym_queue_ended_jobs",
                                   "Jobs that ended since the queue was made", "outcome"),
    [ROW_LOST] = METRIC_GAUGE_ROW("warpgym_queue_lost_leases",
                                  "Jobs whose worker went silent, since the queue was made", NULL),
    [ROW_DOCUMENTS] = METRIC_GAUGE_ROW("warpgym_queue_documents",
                                       "Documents that the queue keeps (episodes)", NULL),
    [ROW_WORKERS] = METRIC_GAUGE_ROW("warpgym_workers", "Workers that take jobs", "kind"),
};

static void refresh(void *context)
{
    struct service *service = context;
    struct queue_stats stats;
    const char *const none[METRIC_LABELS] = {NULL};
    if (service_stats(service, &stats)) {
        for (int i = 0; i < QUEUE_PRIORITIES; i++) {
            const char *const labels[] = {view_priority((enum queue_priority)i)};
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
    size_t all = fleet_taking(service->fleet, false), gpu = fleet_taking(service->fleet, true);
    metrics_set(service->metrics, ROW_WORKERS, (const char *[]){"gpu"}, (double)gpu);
    metrics_set(service->metrics, ROW_WORKERS, (const char *[]){"cpu"}, (double)(all - gpu));
}

void keeper_metrics(struct service *service)
{
    service->metrics = metrics_add(service->options.metrics, rows, ROW_COUNT);
    metrics_on_render(service->options.metrics, refresh, service);
}
