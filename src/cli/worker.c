#include "cli/cli.h"

#include "base/log.h"
#include "queue/queue.h"
#include "queue/queue_settings.h"
#include "server/exporter.h"
#include "worker/worker.h"
#include "worker/worker_settings.h"

#include <stdio.h>

struct arguments {
    const char *queue, *name, *listen, *slots;
};

static int worker_health(void *context, struct err *err)
{
    return worker_check(context, err);
}

/* Prints the worker's name and the address of its metrics. */
static int worker_announce(struct worker *worker, const struct worker_options *options,
                           struct exporter **exporter, struct err *err)
{
    const struct exporter_options seen = {.settings = options->settings,
                                          .listen = worker_settings(options->settings)->listen,
                                          .metrics = options->metrics,
                                          .why_not = worker_health,
                                          .context = worker};
    if (*seen.listen && exporter_start(exporter, &seen, err) < 0)
        return err_prefix(err, "worker.listen");
    printf("warpgym: %s claims jobs from %s%s%s\n", worker_name(worker), queue_name(options->queue),
           *exporter ? ", metrics at " : "", *exporter ? exporter_address(*exporter) : "");
    fflush(stdout);
    return 0;
}

static int work_until_signal(const struct worker_options *options, struct err *err)
{
    const struct worker_settings *values = worker_settings(options->settings);
    struct worker *worker;
    struct exporter *exporter = NULL;
    int result = worker_start(&worker, options, err);
    if (result < 0)
        return result;
    result = worker_announce(worker, options, &exporter, err);
    if (result == 0)
        cli_wait_for_signal();
    log_write(LOG_LEVEL_INFO, "worker", "claiming no more jobs; running ones have %g s",
              (double)values->drain_ms * 1e-3);
    worker_drain(worker, values->drain_ms);
    exporter_stop(exporter); /* it reads the worker */
    worker_free(worker);
    return result;
}

static int worker_run(struct cli_call *call, void *context, struct err *err)
{
    const struct arguments *arguments = context;
    struct queue_options options;
    struct queue *queue;
    cli_begin_service(&call->settings);
    queue_options_read(&options, &call->settings);
    int result = queue_open(&queue, queue_settings(&call->settings)->url, &options, err);
    if (result < 0)
        return result;
    const struct worker_options worker = {.settings = &call->settings,
                                          .queue = queue,
                                          .search_paths = &call->search_paths,
                                          .metrics = metrics_new(),
                                          .name = arguments->name};
    result = work_until_signal(&worker, err);
    metrics_free(worker.metrics);
    queue_close(queue);
    return result;
}

int worker_main(struct cli_call *call)
{
    struct arguments arguments = {0};
    const struct cli_option options[] = {
        OPTION_SETTING('q', "queue", &arguments.queue, "URL",
                       "sqlite:PATH or redis://host[:port][/db] (setting queue.url)",
                       .setting = "queue.url"),
        OPTION_SETTING(0, "slots", &arguments.slots, "N", "jobs at a time (setting worker.slots)",
                       .setting = "worker.slots"),
        OPTION_SETTING('l', "listen", &arguments.listen, "ADDRESS:PORT",
                       "serve /metrics and /health there (setting worker.listen)",
                       .setting = "worker.listen"),
        OPTION_STRING(0, "name", &arguments.name, "NAME", "its name in the queue; must be unique"),
        OPTION_PROBLEMS,
        OPTION_SET,
        OPTION_END,
    };
    return cli_run(call, options, worker_run, &arguments);
}
