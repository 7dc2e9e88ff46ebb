#include "base/array.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/search_paths.h"
#include "gym/gym.h"
#include "queue/queue_settings.h"
#include "server/service.h"
#include "worker/worker.h"
#include "worker/worker_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STOP_MS 10000

struct arguments {
    const char *listen, *queue, *workers;
    struct cli_words search_paths, sets;
    bool no_worker; /* `workers` is "none" */
};

/* The parts, and what they share. */
struct serve_context {
    const struct settings *settings;
    struct paths_list search_paths;
    struct queue *queue;
    struct metrics *metrics;
    struct gym *gym;
    struct service *service;
    struct worker *worker; /* NULL: none in this process */
};

static int start_worker(struct serve_context *serve, struct err *err)
{
    const struct worker_options options = {.settings = serve->settings,
                                           .queue = serve->queue,
                                           .search_paths = &serve->search_paths,
                                           .metrics = serve->metrics};
    return worker_start(&serve->worker, &options, err);
}

/* Serves before the worker is up: jobs wait in the queue meanwhile. */
static int serve_start(struct serve_context *serve, bool no_worker, struct err *err)
{
    const struct gym_options gym = {.settings = serve->settings,
                                    .search_paths = serve->search_paths.items,
                                    .search_path_count = serve->search_paths.count};
    int result = gym_open(&serve->gym, &gym, err);
    if (result < 0)
        return result;
    const struct service_options options = {.settings = serve->settings,
                                            .queue = serve->queue,
                                            .gym = serve->gym,
                                            .metrics = serve->metrics,
                                            .search_paths = serve->search_paths.items,
                                            .search_path_count = serve->search_paths.count};
    result = service_open(&serve->service, &options, err);
    if (result == 0)
        result = service_start(serve->service, err);
    if (result < 0)
        return result;
    printf("warpgym: serving at %s, queue %s\n", service_address(serve->service),
           queue_name(serve->queue));
    fflush(stdout);
    return no_worker ? 0 : start_worker(serve, err);
}

/* Clients first: waiting ones are asked to retry, and no more jobs arrive. */
static void serve_stop(struct serve_context *serve)
{
    struct err err;
    if (serve->service && service_stop(serve->service, STOP_MS, &err) < 0) {
        /* A request hangs: nothing can be freed, and nothing acknowledged is lost. */
        log_event(LOG_LEVEL_ERROR, "serve", "stopped in the middle of a request", "why", err.text,
                  NULL);
        _Exit(EXIT_INFRASTRUCTURE);
    }
    if (serve->worker)
        worker_drain(serve->worker, worker_settings(serve->settings)->drain_ms);
    worker_free(serve->worker);
    service_free(serve->service);
    gym_close(serve->gym);
}

static int serve_until_signal(struct serve_context *serve, bool no_worker)
{
    struct err err;
    int result = serve_start(serve, no_worker, &err);
    int status = EXIT_PASSED;
    if (result < 0)
        status = cli_fail_err(&err);
    else
        cli_wait_for_signal();
    if (result == 0)
        log_event(LOG_LEVEL_INFO, "serve", "stopping", NULL);
    serve_stop(serve);
    return status;
}

static int serve_run(const void *context, const struct settings *settings)
{
    const struct arguments *arguments = context;
    struct serve_context serve = {.settings = settings};
    struct queue_options options;
    struct err err;
    if (cli_search_paths(&arguments->search_paths, settings, &serve.search_paths, &err) < 0)
        return cli_fail_err(&err);
    int status;
    queue_options_read(&options, settings);
    if (queue_open(&serve.queue, queue_settings(settings)->url, &options, &err) < 0) {
        status = cli_fail_err(&err);
    } else {
        serve.metrics = metrics_new();
        status = serve_until_signal(&serve, arguments->no_worker);
        metrics_free(serve.metrics);
        queue_close(serve.queue);
    }
    paths_list_deinit(&serve.search_paths);
    return status;
}

static int serve_with_settings(struct arguments *arguments)
{
    arguments->no_worker = arguments->workers && strcmp(arguments->workers, "none") == 0;
    const struct cli_alias aliases[] = {
        {"--listen", "server.listen", arguments->listen, NULL},
        {"--queue", "queue.url", arguments->queue, NULL},
        {"--workers", "worker.slots", arguments->no_worker ? NULL : arguments->workers, NULL},
    };
    return cli_run_with_settings(&arguments->sets, aliases, COUNT(aliases), true, serve_run,
                                 arguments);
}

int serve_main(int argc, char **argv)
{
    struct arguments arguments = {.workers = NULL};
    const struct cli_option options[] = {
        OPTION_STRING('l', "listen", &arguments.listen, "ADDRESS:PORT",
                      "the address to serve at (server.listen); port 0: a free one"),
        OPTION_STRING(0, "queue", &arguments.queue, "URL",
                      "the queue (queue.url): sqlite:PATH or redis://HOST"),
        OPTION_STRING('w', "workers", &arguments.workers, "N|none",
                      "jobs judged here at a time (worker.slots); none: serve only, and `warpgym "
                      "worker` judges"),
        OPTION_PROBLEMS(&arguments.search_paths),
        OPTION_SET(&arguments.sets),
        OPTION_END,
    };
    int status;
    if (!cli_parse(serve_main, options, argc, argv, NULL, &status))
        return status;
    return cli_end(options, NULL, serve_with_settings(&arguments));
}
