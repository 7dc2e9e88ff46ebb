/* mcp: the gym for coding agents, over the Model Context Protocol. */
#include "cli/cli.h"

#include "base/array.h"
#include "base/log.h"
#include "base/paths.h"
#include "cli/search_paths.h"
#include "client/client_settings.h"
#include "client/evaluator.h"
#include "gym/gym.h"
#include "server/mcp/gym.h"
#include "server/mcp/mcp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STOP_MS 10000

struct arguments {
    const char *listen, *server, *record, *index;
    struct cli_words search_paths, sets;
    int64_t evaluations;
    bool local;
};

/* The parts, in the order in which they are opened. */
struct mcp_context {
    struct paths_list search_paths;
    struct gym *gym;
    struct evaluator *evaluator;
    struct mcp_gym *service;
    struct mcp *mcp;
};

/* Moves standard input and output away from children and stray prints: those go to standard
 * error, and nothing else reads the client's messages. */
static int keep_streams(int *in, int *out, struct err *err)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    *in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    *out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (nothing < 0 || *in < 0 || *out < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
        dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return err_sys(err, errno, "standard input and output");
    close(nothing);
    return 0;
}

static int serve_stdio(struct mcp_context *server, struct err *err)
{
    int in = -1, out = -1;
    if (isatty(STDIN_FILENO))
        fprintf(stderr, "warpgym: standard input is for a program that sends a JSON-RPC message a "
                        "line; `warpgym mcp --help` says how to add it to an agent\n");
    int result = keep_streams(&in, &out, err);
    if (result == 0)
        result = mcp_stdio_run(server->mcp, in, out, &cli_cancelled, err);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return result;
}

static int serve_http(struct mcp_context *server, struct err *err)
{
    struct mcp_http *http;
    int result = mcp_http_open(&http, server->mcp, err);
    if (result < 0)
        return result;
    printf("warpgym: serving MCP at %s\n", mcp_http_address(http));
    fflush(stdout);
    cli_wait_for_signal();
    result = mcp_http_stop(http, STOP_MS, err);
    if (result < 0) {
        /* A request hangs: nothing can be freed, and what was recorded is safe. */
        log_event(LOG_LEVEL_ERROR, "mcp", "stopped in the middle of a request", "why", err->text,
                  NULL);
        _Exit(EXIT_INFRASTRUCTURE);
    }
    mcp_http_free(http);
    return 0;
}

static int open_evaluator(const struct arguments *arguments, const struct settings *settings,
                          struct mcp_context *server, bool *elsewhere, struct err *err)
{
    const struct evaluator_options options = {.settings = settings,
                                              .search_paths = server->search_paths.items,
                                              .search_path_count = server->search_paths.count,
                                              .max_in_flight = (size_t)arguments->evaluations};
    *elsewhere = !arguments->local && (arguments->server || client_settings(settings)->url[0]);
    return *elsewhere ? evaluator_open_remote(&server->evaluator, arguments->server, &options, err)
                      : evaluator_open_local(&server->evaluator, &options, err);
}

static int mcp_context_open(const struct arguments *arguments, const struct settings *settings,
                            struct mcp_context *server, struct err *err)
{
    const struct gym_options gym = {settings, server->search_paths.items,
                                    server->search_paths.count};
    struct mcp_gym_options service = {.record = arguments->record};
    int result = gym_open(&server->gym, &gym, err);
    if (result == 0)
        result = open_evaluator(arguments, settings, server, &service.elsewhere, err);
    service.gym = server->gym;
    service.evaluator = server->evaluator;
    if (result == 0)
        result = mcp_gym_open(&server->service, &service, err);
    if (result < 0)
        return result;
    const struct mcp_options options = {settings, mcp_gym_service(server->service),
                                        evaluator_capacity(server->evaluator)};
    return mcp_open(&server->mcp, &options, err);
}

static int mcp_run(const void *context, const struct settings *settings)
{
    const struct arguments *arguments = context;
    struct mcp_context server = {0};
    struct err err = {0};
    int result = cli_search_paths(&arguments->search_paths, settings, &server.search_paths, &err);
    if (result < 0)
        return cli_fail_err(&err);
    result = mcp_context_open(arguments, settings, &server, &err);
    if (result == 0)
        result = arguments->listen ? serve_http(&server, &err) : serve_stdio(&server, &err);
    if (server.mcp)
        mcp_stop(server.mcp);
    mcp_free(server.mcp);
    mcp_gym_close(server.service);
    evaluator_close(server.evaluator);
    gym_close(server.gym);
    paths_list_deinit(&server.search_paths);
    return cli_result(result, &err);
}

static int mcp_with_settings(const struct arguments *arguments)
{
    const struct cli_alias aliases[] = {
        {"--listen", "server.listen", arguments->listen, NULL},
        {"--index", "retrieval.directory", arguments->index, NULL},
    };
    return cli_run_with_settings(&arguments->sets, aliases, COUNT(aliases), arguments->listen,
                                 mcp_run, arguments);
}

int mcp_main(int argc, char **argv)
{
    struct arguments arguments = {.listen = NULL};
    const struct cli_option options[] = {
        OPTION_STRING('l', "listen", &arguments.listen, "ADDRESS:PORT",
                      "serve streamable HTTP at /mcp there (server.listen) instead of standard "
                      "input and output; port 0: a free one"),
        OPTION_STRING('o', "record", &arguments.record, "DIR",
                      "append every session's episodes to DIR/trajectories.jsonl"),
        OPTION_STRING(0, "index", &arguments.index, "DIR",
                      "solved examples to search (retrieval.directory; `warpgym index`)"),
        OPTION_PROBLEMS(&arguments.search_paths),
        OPTION_SET(&arguments.sets),
        OPTION_GROUP("Where submissions are judged"),
        OPTION_STRING(0, "server", &arguments.server, "URL",
                      "on a server (http://HOST:PORT); default client.url"),
        OPTION_FLAG(0, "local", &arguments.local, "here, whatever client.url says"),
        OPTION_INT(0, "evaluations", &arguments.evaluations, 1, 64, "N",
                   "submissions judged at the same time; here one per CPU, on a server 64"),
        OPTION_END,
    };
    int status;
    if (!cli_parse(mcp_main, options, argc, argv, NULL, &status))
        return status;
    return cli_end(options, NULL, mcp_with_settings(&arguments));
}
