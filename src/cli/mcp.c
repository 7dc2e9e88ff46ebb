/* mcp: the gym for coding agents, over the Model Context Protocol. */
#include "server/mcp/mcp.h"
#include "base/log.h"
#include "cli/open_evaluator.h"
#include "gym/gym.h"
#include "server/mcp/gym.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STOP_MS 10000

struct arguments {
    const char *listen, *record, *index;
    struct cli_where where;
};

/* The parts, in the order in which they are opened. */
struct mcp_context {
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

static int mcp_context_open(const struct cli_call *call, const struct arguments *arguments,
                            struct mcp_context *server, struct err *err)
{
    const struct settings *settings = &call->settings;
    struct mcp_gym_options service = {.record = arguments->record};
    int result = gym_open(&server->gym, settings, &call->search_paths, err);
    if (result == 0)
        result = cli_evaluator_open(call, &arguments->where, NULL, &server->evaluator, err);
    if (result == 0 && cli_is_remote(&arguments->where, settings))
        gym_judged_on(server->gym, arguments->where.server);
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

static int mcp_run(struct cli_call *call, void *context, struct err *err)
{
    const struct arguments *arguments = context;
    struct mcp_context server = {0};
    if (arguments->listen)
        cli_begin_service(&call->settings);
    else
        cli_catch_signals();
    int result = mcp_context_open(call, arguments, &server, err);
    if (result == 0)
        result = arguments->listen ? serve_http(&server, err) : serve_stdio(&server, err);
    if (server.mcp)
        mcp_stop(server.mcp);
    mcp_free(server.mcp);
    mcp_gym_close(server.service);
    evaluator_close(server.evaluator);
    gym_close(server.gym);
    return result;
}

int mcp_main(struct cli_call *call)
{
    struct arguments arguments = {0};
    const struct cli_option options[] = {
        OPTION_SETTING('l', "listen", &arguments.listen, "ADDRESS:PORT",
                       "serve streamable HTTP at /mcp there (server.listen) instead of standard "
                       "input and output; port 0: a free one",
                       .setting = "server.listen"),
        OPTION_STRING('o', "record", &arguments.record, "DIR",
                      "append every session's episodes to DIR/trajectories.jsonl"),
        OPTION_SETTING(0, "index", &arguments.index, "DIR",
                       "solved examples to search (retrieval.directory; `warpgym index`)",
                       .setting = "retrieval.directory"),
        OPTION_PROBLEMS,
        OPTION_SET,
        OPTION_GROUP("Where submissions are judged"),
        OPTIONS_WHERE(&arguments.where, 64,
                      "submissions judged at the same time; here one per CPU, on a server 64"),
        OPTION_END,
    };
    return cli_run(call, options, mcp_run, &arguments);
}
