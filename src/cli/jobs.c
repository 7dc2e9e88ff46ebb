/* jobs: the evaluations of a server: list, show, cancel, watch. */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/printable.h"
#include "cli/eval/report.h"
#include "cli/jobs_table.h"
#include "client/remote.h"

#include <stdio.h>
#include <unistd.h>

#define PAGE 100           /* of a list: verdicts are some KB each */
#define FIRST_WAIT_MS 2000 /* for a queued one: how soon a watcher sees it run */

struct arguments {
    const char *server, *state, *batch;
    int64_t limit;
    bool json, by_batch;
};

/* Common to the four commands; the evaluations that have ended are printed as eval prints them. */
struct jobs {
    struct arguments arguments;
    int (*work)(struct cli_call *call, struct jobs *jobs, struct err *err);
    struct remote *remote;
    struct eval_report endings;
    int status;
};

#define SERVER_OPTION(jobs)                                                                        \
    OPTION_STRING(0, "server", &(jobs).arguments.server, "URL",                                    \
                  "the server; client.url, or http://127.0.0.1:10907")

/* The worse of the two: an interrupt first, then a failure of the judge or the server. */
static void add_status(struct jobs *jobs, int status)
{
    static const int order[] = {EXIT_PASSED, EXIT_SOME_FAILED, EXIT_USAGE, EXIT_INFRASTRUCTURE,
                                EXIT_INTERRUPTED};
    int now = 0, then = 0;
    for (int i = 0; i < 5; i++) {
        now = order[i] == jobs->status ? i : now;
        then = order[i] == status ? i : then;
    }
    if (then > now)
        jobs->status = status;
}

static void jobs_fail(struct jobs *jobs, const struct err *err)
{
    add_status(jobs, err->code == ERR_CANCELLED ? EXIT_INTERRUPTED : cli_fail_err(err));
}

static void add_ending(struct jobs *jobs, const struct remote_evaluation *evaluation)
{
    struct verdict verdict;
    remote_verdict(evaluation, &verdict);
    eval_report_verdict(&jobs->endings, NULL, &verdict);
    verdict_deinit(&verdict);
}

static int jobs_run(struct cli_call *call, void *context, struct err *err)
{
    struct jobs *jobs = context;
    int64_t start_ns = clock_now_ns();
    cli_catch_signals();
    int result = remote_open(&jobs->remote, &call->settings, jobs->arguments.server, &cli_cancelled,
                             err);
    if (result < 0)
        return result;
    result = eval_report_init(&jobs->endings, jobs->arguments.json, true, NULL, err);
    jobs->endings.progress = progress_new(STDERR_FILENO, "judging", 0, true);
    if (result == 0)
        result = jobs->work(call, jobs, err);
    if (result < 0)
        jobs_fail(jobs, err);
    eval_report_finish(&jobs->endings, clock_ms_since(start_ns) * 1e-3);
    if (jobs->endings.broken > 0)
        add_status(jobs, EXIT_INFRASTRUCTURE);
    else if (jobs->endings.failed > 0)
        add_status(jobs, EXIT_SOME_FAILED);
    eval_report_deinit(&jobs->endings);
    remote_close(jobs->remote);
    return jobs->status;
}

static void add_page(struct jobs *jobs, struct jobs_table *table, const json_t *page, size_t *left)
{
    const json_t *items = json_object_get(page, "evaluations");
    for (size_t i = 0; i < json_array_size(items) && *left > 0; i++, --*left) {
        json_t *item = json_array_get(items, i);
        struct remote_evaluation evaluation;
        struct err err;
        if (jobs->arguments.json)
            cli_print_json(json_incref(item));
        else if (remote_read(item, &evaluation, &err) == 0)
            jobs_table_add(table, &evaluation);
    }
}

static int list_pages(struct jobs *jobs, struct jobs_table *table, struct err *err)
{
    const struct arguments *arguments = &jobs->arguments;
    struct remote_query query = {.state = arguments->state,
                                 .batch = arguments->batch,
                                 .verdicts = true};
    size_t left = (size_t)arguments->limit;
    size_t wanted;
    do {
        json_t *page = NULL;
        query.limit = left < PAGE ? (int64_t)left : PAGE;
        int result = remote_list(jobs->remote, &query, &page, err);
        if (result < 0)
            return result;
        wanted = left;
        add_page(jobs, table, page, &left);
        query.before = json_integer_value(json_object_get(page, "before"));
        json_decref(page);
    } while (query.before > 0 && left > 0 && left < wanted);
    return 0;
}

static int list_all(struct cli_call *call, struct jobs *jobs, struct err *err)
{
    struct jobs_table *table = jobs_table_new();
    int result = list_pages(jobs, table, err);
    if (result == 0)
        jobs_table_put(table, call);
    jobs_table_free(table);
    return result;
}

int jobs_list_main(struct cli_call *call)
{
    struct jobs jobs = {.work = list_all, .arguments = {.limit = 20}};
    const struct cli_option options[] = {
        SERVER_OPTION(jobs),
        OPTION_SET,
        OPTION_STRING(0, "state", &jobs.arguments.state, "STATE",
                      "queued, running, done or cancelled"),
        OPTION_STRING(0, "batch", &jobs.arguments.batch, "ID", "those of one batch"),
        OPTION_INT('n', "limit", &jobs.arguments.limit, 1, 100000, "N", "how many, the newest"),
        OPTION_FLAG(0, "json", &jobs.arguments.json, "one evaluation a line instead of the table"),
        OPTION_END,
    };
    return cli_run(call, options, jobs_run, &jobs);
}

static void show_one(struct jobs *jobs, struct jobs_table *waiting, const char *id)
{
    struct remote_evaluation evaluation;
    struct err err;
    json_t *object = NULL;
    int result = remote_get(jobs->remote, id, 0, &object, &err);
    if (result == 0)
        result = remote_read(object, &evaluation, &err);
    if (result < 0)
        jobs_fail(jobs, &err);
    else if (jobs->arguments.json)
        cli_print_json(json_incref(object));
    else if (remote_is_ended(&evaluation))
        add_ending(jobs, &evaluation);
    else
        jobs_table_add(waiting, &evaluation);
    json_decref(object);
}

static int show_all(struct cli_call *call, struct jobs *jobs, struct err *err)
{
    struct jobs_table *waiting = jobs_table_new();
    for (size_t i = 0; i < call->words.count && !cli_cancelled; i++)
        show_one(jobs, waiting, call->words.items[i]);
    jobs_table_put(waiting, call);
    cli_flush(call);
    jobs_table_free(waiting);
    return 0;
}

int jobs_show_main(struct cli_call *call)
{
    struct jobs jobs = {.work = show_all};
    const struct cli_option options[] = {
        SERVER_OPTION(jobs),
        OPTION_SET,
        OPTION_FLAG(0, "json", &jobs.arguments.json, "the server's own objects, one a line"),
        OPTION_END,
    };
    return cli_run(call, options, jobs_run, &jobs);
}

static void say_state(const struct remote_evaluation *evaluation)
{
    char text[256];
    snprintf(text, sizeof text, "%.64s: %s%s%.64s", evaluation->id,
             remote_state_name(evaluation->state), evaluation->worker ? " on " : "",
             evaluation->worker ? evaluation->worker : "");
    printable_text(text, false);
    fprintf(stderr, "%s\n", text);
}

/* Prints each state once; 0 when it has ended. */
static int watch_one(struct jobs *jobs, const char *id, struct err *err)
{
    enum remote_state shown = REMOTE_STATE_COUNT;
    for (int64_t wait_ms = 0;;) {
        struct remote_evaluation evaluation;
        json_t *object = NULL;
        int result = remote_get(jobs->remote, id, wait_ms, &object, err);
        if (result == 0)
            result = remote_read(object, &evaluation, err);
        if (result == 0 && evaluation.state != shown && !jobs->arguments.json)
            say_state(&evaluation);
        bool ended = result == 0 && remote_is_ended(&evaluation);
        if (ended)
            add_ending(jobs, &evaluation);
        if (result == 0) {
            shown = evaluation.state;
            wait_ms = shown == REMOTE_QUEUED ? FIRST_WAIT_MS : REMOTE_WAIT_MS;
        }
        json_decref(object);
        if (result < 0 || ended)
            return result;
    }
}

static int watch_all(struct cli_call *call, struct jobs *jobs, struct err *err)
{
    for (size_t i = 0; i < call->words.count && !cli_cancelled; i++)
        if (watch_one(jobs, call->words.items[i], err) < 0)
            jobs_fail(jobs, err);
    return 0;
}

int jobs_watch_main(struct cli_call *call)
{
    struct jobs jobs = {.work = watch_all};
    const struct cli_option options[] = {
        SERVER_OPTION(jobs),
        OPTION_SET,
        OPTION_FLAG(0, "json", &jobs.arguments.json, "one verdict a line instead of the table"),
        OPTION_END,
    };
    return cli_run(call, options, jobs_run, &jobs);
}

static int cancel_all(struct cli_call *call, struct jobs *jobs, struct err *err)
{
    int (*cancel)(struct remote * remote, const char *id,
                  struct err *err) = jobs->arguments.by_batch ? remote_cancel_batch : remote_cancel;
    for (size_t i = 0; i < call->words.count && !cli_cancelled; i++)
        if (cancel(jobs->remote, call->words.items[i], err) < 0)
            jobs_fail(jobs, err);
    return 0;
}

int jobs_cancel_main(struct cli_call *call)
{
    struct jobs jobs = {.work = cancel_all};
    const struct cli_option options[] = {
        SERVER_OPTION(jobs),
        OPTION_SET,
        OPTION_FLAG(0, "batch", &jobs.arguments.by_batch,
                    "each ID is a batch: cancel its unfinished evaluations"),
        OPTION_END,
    };
    return cli_run(call, options, jobs_run, &jobs);
}
