#include "cli/cli.h"

#include "base/log.h"
#include "cli/search_paths.h"
#include "queue/queue.h"
#include "server/exporter.h"
#include "worker/worker.h"

#include <stdio.h>

struct arguments {
    const char *queue, *name, *listen, *slots;
    struct cli_words search_paths, sets, rest;
};

static int why_not(void *context, struct err *err)
{
    return worker_check(context, err);
}

/* Says who it is, and where it is to be seen. */
static int tell(struct worker *worker, const struct worker_options *options,
                struct exporter **exporter, struct err *err)
{
    const struct exporter_options seen = {.settings = options->settings,
                                          .listen = options->settings->worker_listen,
                                          .metrics = options->metrics,
                                          .why_not = why_not,
                                          .context = worker};
    if (*seen.listen && exporter_start(exporter, &seen, err) < 0)
        return err_prefix(err, "worker.listen");
    printf("warpgym: %s takes jobs from %s%s%s\n", worker_name(worker), queue_name(options->queue),
           *exporter ? ", metrics at " : "", *exporter ? exporter_address(*exporter) : "");
    fflush(stdout);
    return 0;
}

static int work(const struct worker_options *options)
{
    const struct settings *settings = options->settings;
    struct worker *worker;
    struct exporter *exporter = NULL;
    struct err err = {0};
    int status = EXIT_PASSED;
    if (worker_start(&worker, options, &err) < 0)
        return cli_fail(cli_status(&err), "%s", err.text);
    if (tell(worker, options, &exporter, &err) < 0)
        status = cli_fail(cli_status(&err), "%s", err.text);
    else
        cli_wait_for_signal();
    log_write(LOG_LEVEL_INFO, "worker", "no more jobs; those under way have %g s",
              (double)settings->worker_drain_ms * 1e-3);
    worker_drain(worker, settings->worker_drain_ms);
    exporter_stop(exporter); /* it asks the worker */
    worker_free(worker);
    return status;
}

static int run(const struct arguments *arguments, const struct settings *settings)
{
    struct paths_list search_paths;
    struct queue_options options;
    struct queue *queue;
    struct err err = {0};
    if (cli_search_paths(&arguments->search_paths, settings, &search_paths, &err) < 0)
        return cli_fail(cli_status(&err), "%s", err.text);
    queue_options_read(&options, settings);
    int status;
    if (queue_open(&queue, settings->queue_url, &options, &err) < 0) {
        status = cli_fail(cli_status(&err), "%s", err.text);
    } else {
        struct worker_options worker = {.settings = settings,
                                        .queue = queue,
                                        .search_paths = &search_paths,
                                        .metrics = metrics_new(),
                                        .name = arguments->name};
        status = work(&worker);
        metrics_free(worker.metrics);
        queue_close(queue);
    }
    paths_list_deinit(&search_paths);
    return status;
}

static int run_with_settings(const struct arguments *arguments)
{
    const struct cli_alias aliases[] = {
        {"--queue", SETTING_queue_url, arguments->queue, NULL},
        {"--slots", SETTING_worker_slots, arguments->slots, NULL},
        {"--listen", SETTING_worker_listen, arguments->listen, NULL},
    };
    struct settings settings;
    struct err err;
    if (cli_settings_with(&settings, &arguments->sets, aliases, 3, &err) < 0)
        return cli_fail(EXIT_USAGE, "%s", err.text);
    cli_be_service(&settings);
    cli_catch_signals();
    int status = run(arguments, &settings);
    settings_deinit(&settings);
    return status;
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
        OPTION_STRING(0, "name", &arguments.name, "NAME",
                      "how the queue knows it; must differ from all others'"),
        OPTION_LIST(0, "problems", &arguments.search_paths, "DIR",
                    "look for problems here first; may be repeated"),
        OPTION_LIST('s', "set", &arguments.sets, "KEY=VALUE",
                    "change a setting (`warpgym settings`); may be repeated"),
        OPTION_END,
    };
    int status = EXIT_USAGE;
    if (!cli_parse(worker_main, options, argc, argv, &arguments.rest, &status))
        return status;
    status = arguments.rest.count > 0
                 ? cli_fail(EXIT_USAGE, "worker: takes no arguments; try `warpgym worker --help`")
                 : run_with_settings(&arguments);
    cli_words_deinit(&arguments.search_paths);
    cli_words_deinit(&arguments.sets);
    cli_words_deinit(&arguments.rest);
    return status;
}
