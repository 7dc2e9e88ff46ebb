#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/roots.h"
#include "server/service.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS 100
#define STOP_MS 10000

struct arguments {
    const char *listen, *queue, *workers;
    struct cli_words roots, sets;
};

/* Logs are for machines here, and tell what happens: unless somebody said otherwise. */
static void set_log(void)
{
    const char *format = getenv("WARPGYM_LOG_FORMAT");
    if (!format || strcmp(format, "text") != 0)
        log_set_format(LOG_FORMAT_JSON);
    if (!getenv("WARPGYM_LOG"))
        log_set_level(LOG_LEVEL_INFO);
}

/* SIGINT and SIGTERM end the wait; a second one ends the process (cli_catch_signals). */
static void wait_for_signal(void)
{
    while (!cli_cancelled)
        (void)poll(NULL, 0, LOOK_MS);
}

static int serve(const struct arguments *arguments, const struct settings *settings,
                 struct queue *queue, const struct paths_list *roots, struct metrics *metrics)
{
    struct service *service = NULL;
    struct err err;
    const struct service_options options = {.settings = settings,
                                            .queue = queue,
                                            .metrics = metrics,
                                            .roots = roots->items,
                                            .root_count = roots->count};
    (void)arguments;
    if (service_open(&service, &options, &err) < 0)
        return cli_fail(cli_status(&err), "%s", err.text);
    int status = EXIT_PASSED;
    if (service_start(service, &err) < 0) {
        status = cli_fail(cli_status(&err), "%s", err.text);
    } else {
        printf("warpgym: serving at %s, queue %s\n", service_address(service), queue_name(queue));
        fflush(stdout);
        wait_for_signal();
        log_event(LOG_LEVEL_INFO, "serve", "stopping", NULL);
        if (service_stop(service, STOP_MS, &err) < 0) {
            /* Something hangs in a request: nothing can be freed, and nothing acknowledged is lost. */
            log_event(LOG_LEVEL_ERROR, "serve", "stopped in the middle of a request", "why",
                      err.text, NULL);
            _Exit(EXIT_INFRASTRUCTURE);
        }
    }
    service_free(service);
    return status;
}

static int run(const struct arguments *arguments, const struct settings *settings)
{
    struct paths_list roots;
    struct queue *queue;
    struct queue_options options;
    struct err err;
    if (cli_roots(&arguments->roots, settings, &roots, &err) < 0)
        return cli_fail(cli_status(&err), "%s", err.text);
    int status;
    queue_options_read(&options, settings);
    if (queue_open(&queue, settings->queue_url, &options, &err) < 0) {
        status = cli_fail(cli_status(&err), "%s", err.text);
    } else {
        struct metrics *metrics = metrics_new();
        status = serve(arguments, settings, queue, &roots, metrics);
        metrics_free(metrics);
        queue_close(queue);
    }
    paths_list_deinit(&roots);
    return status;
}

/* Options that are settings by another name. */
static int assign(struct settings *settings, const char *path, const char *value, struct err *err)
{
    return value ? settings_set(settings, path, value, ORIGIN_COMMAND_LINE, err) : 0;
}

int serve_main(int argc, char **argv)
{
    struct arguments arguments = {.workers = NULL};
    struct cli_words words = {0};
    const struct cli_option options[] = {
        OPTION_STRING('l', "listen", &arguments.listen, "ADDRESS:PORT",
                      "where to serve (server.listen); port 0: a free one"),
        OPTION_STRING(0, "queue", &arguments.queue, "URL",
                      "where jobs are kept (queue.url): sqlite:PATH or redis://HOST"),
        OPTION_STRING('w', "workers", &arguments.workers, "none",
                      "none: serve only, `warpgym worker` judges"),
        OPTION_LIST(0, "problems", &arguments.roots, "DIR",
                    "look for problems here first; may be repeated"),
        OPTION_LIST('s', "set", &arguments.sets, "KEY=VALUE",
                    "change a setting (`warpgym settings`); may be repeated"),
        OPTION_END,
    };
    struct settings settings;
    struct err err;
    int status = EXIT_USAGE;
    if (!cli_parse(serve_main, options, argc, argv, &words, &status))
        return status;
    if (words.count > 0) {
        status = cli_fail(EXIT_USAGE, "serve: '%s' is too much; try `warpgym serve --help`",
                          words.items[0]);
    } else if (arguments.workers && strcmp(arguments.workers, "none") != 0) {
        status = cli_fail(EXIT_USAGE, "serve: --workers takes none");
    } else if (cli_settings(&settings, &arguments.sets, &err) < 0) {
        status = cli_fail(EXIT_USAGE, "%s", err.text);
    } else {
        if (assign(&settings, "server.listen", arguments.listen, &err) < 0 ||
            assign(&settings, "queue.url", arguments.queue, &err) < 0) {
            status = cli_fail(EXIT_USAGE, "%s", err.text);
        } else {
            set_log();
            cli_catch_signals();
            status = run(&arguments, &settings);
        }
        settings_deinit(&settings);
    }
    cli_words_deinit(&arguments.roots);
    cli_words_deinit(&arguments.sets);
    cli_words_deinit(&words);
    return status;
}
