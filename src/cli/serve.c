#include "base/log.h"
#include "cli/cli.h"
#include "gym/gym.h"
#include "queue/queue_settings.h"
#include "server/service.h"
#include "worker/worker.h"
#include "worker/worker_settings.h"

#include <stdio.h>
#include <string.h>

#define STOP_MS 10000
#define NO_WORKER "none" /* of --workers */

struct arguments {
    const char *listen, *queue, *workers;
};

/* The parts, and what they share. */
struct serve_context {
    const struct settings *settings;
    const struct paths_list *search_paths;
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
                                           .search_paths = serve->search_paths,
                                           .metrics = serve->metrics};
    return worker_start(&serve->worker, &options, err);
}

/* Serves before the worker is up: jobs wait in the queue meanwhile. */
static int serve_start(struct serve_context *serve, bool no_worker, struct err *err)
{
    int result = gym_open(&serve->gym, serve->settings, serve->search_paths, err);
    if (result < 0)
        return result;
    const struct service_options options = {.settings = serve->settings,
                                            .queue = serve->queue,
                                            .gym = serve->gym,
                                            .metrics = serve->metrics,
                                            .search_paths = serve->search_paths};
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

static int serve_run(struct cli_call *call, void *context, struct err *err)
{
    const struct arguments *arguments = context;
    struct serve_context serve = {.settings = &call->settings, .search_paths = &call->search_paths};
    struct queue_options options;
    cli_begin_service(&call->settings);
    queue_options_read(&options, serve.settings);
    int result = queue_open(&serve.queue, queue_settings(serve.settings)->url, &options, err);
    if (result < 0)
        return result;
    serve.metrics = metrics_new();
    bool no_worker = arguments->workers && strcmp(arguments->workers, NO_WORKER) == 0;
    result = serve_start(&serve, no_worker, err);
    if (result == 0) {
        cli_wait_for_signal();
        log_event(LOG_LEVEL_INFO, "serve", "stopping", NULL);
    }
    serve_stop(&serve);
    metrics_free(serve.metrics);
    queue_close(serve.queue);
    return result;
}

int serve_main(struct cli_call *call)
{
    struct arguments arguments = {0};
    const struct cli_option options[] = {
        OPTION_SETTING('l', "listen", &arguments.listen, "ADDRESS:PORT",
                       "the address to serve at (server.listen); port 0: a free one",
                       .setting = "server.listen"),
        OPTION_SETTING(0, "queue", &arguments.queue, "URL",
                       "the queue (queue.url): sqlite:PATH or redis://HOST",
                       .setting = "queue.url"),
        OPTION_SETTING('w', "workers", &arguments.workers, "N|none",
                       "jobs judged here at a time (worker.slots); none: serve only, and `warpgym "
                       "worker` judges",
                       .setting = "worker.slots", .except = NO_WORKER),
        OPTION_PROBLEMS,
        OPTION_SET,
        OPTION_END,
    };
    return cli_run(call, options, serve_run, &arguments);
}
