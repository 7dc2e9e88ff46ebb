#include "cli/cli.h"

#include "base/array.h"
#include "base/log.h"
#include "cli/search_paths.h"
#include "queue/queue.h"
#include "queue/queue_settings.h"
#include "server/exporter.h"
#include "worker/worker.h"
#include "worker/worker_settings.h"

#include <stdio.h>

struct arguments {
    const char *queue, *name, *listen, *slots;
    struct cli_words search_paths, sets;
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

static int work_until_signal(const struct worker_options *options)
{
    const struct worker_settings *values = worker_settings(options->settings);
    struct worker *worker;
    struct exporter *exporter = NULL;
    struct err err = {0};
    int status = EXIT_PASSED;
    if (worker_start(&worker, options, &err) < 0)
        return cli_fail_err(&err);
    if (worker_announce(worker, options, &exporter, &err) < 0)
        status = cli_fail_err(&err);
    else
        cli_wait_for_signal();
    log_write(LOG_LEVEL_INFO, "worker", "claiming no more jobs; running ones have %g s",
              (double)values->drain_ms * 1e-3);
    worker_drain(worker, values->drain_ms);
    exporter_stop(exporter); /* it reads the worker */
    worker_free(worker);
    return status;
}

static int worker_run(const void *context, const struct settings *settings)
{
    const struct arguments *arguments = context;
    struct paths_list search_paths;
    struct queue_options options;
    struct queue *queue;
    struct err err = {0};
    if (cli_search_paths(&arguments->search_paths, settings, &search_paths, &err) < 0)
        return cli_fail_err(&err);
    queue_options_read(&options, settings);
    int status;
    if (queue_open(&queue, queue_settings(settings)->url, &options, &err) < 0) {
        status = cli_fail_err(&err);
    } else {
        struct worker_options worker = {.settings = settings,
                                        .queue = queue,
                                        .search_paths = &search_paths,
                                        .metrics = metrics_new(),
                                        .name = arguments->name};
        status = work_until_signal(&worker);
        metrics_free(worker.metrics);
        queue_close(queue);
    }
    paths_list_deinit(&search_paths);
    return status;
}

static int worker_with_settings(const struct arguments *arguments)
{
    const struct cli_alias aliases[] = {
        {"--queue", "queue.url", arguments->queue, NULL},
        {"--slots", "worker.slots", arguments->slots, NULL},
        {"--listen", "worker.listen", arguments->listen, NULL},
    };
    return cli_run_with_settings(&arguments->sets, aliases, COUNT(aliases), true, worker_run,
                                 arguments);
}

int worker_main(int argc, char **argv)
{
    struct arguments arguments = {0};
    const struct cli_option options[] = {
        OPTION_STRING('q', "queue", &arguments.queue, "URL",
                      "sqlite:PATH or redis://host[:port][/db] (setting queue.url)"),
        OPTION_STRING(0, "slots", &arguments.slots, "N", "jobs at a time (setting worker.slots)"),
        OPTION_STRING('l', "listen", &arguments.listen, "ADDRESS:PORT",
                      "serve /metrics and /health there (setting worker.listen)"),
        OPTION_STRING(0, "name", &arguments.name, "NAME", "its name in the queue; must be unique"),
        OPTION_PROBLEMS(&arguments.search_paths),
        OPTION_SET(&arguments.sets),
        OPTION_END,
    };
    int status;
    if (!cli_parse(worker_main, options, argc, argv, NULL, &status))
        return status;
    return cli_end(options, NULL, worker_with_settings(&arguments));
}
