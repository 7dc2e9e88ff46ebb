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

#define OUT_BYTES ((size_t)64 << 20)
#define PAGE 100           /* of a list: verdicts are some KB each */
#define FIRST_WAIT_MS 2000 /* for a queued one: how soon a watcher sees it run */

struct arguments {
    const char *server, *state, *batch;
    struct cli_words sets, ids;
    int64_t limit;
    bool json;
};

/* Common to the four commands. */
struct jobs {
    struct arguments arguments;
    struct settings settings;
    struct remote *remote;
    int status;
};

#define SERVER_OPTION(a)                                                                           \
    OPTION_STRING(0, "server", &(a)->server, "URL",                                                \
                  "the server; client.url, or http://127.0.0.1:10907")

/* False: end with *status. */
static bool jobs_open(struct jobs *jobs, int (*run)(int, char **), const struct cli_option *options,
                      int argc, char **argv, bool wants_ids)
{
    struct arguments *arguments = &jobs->arguments;
    struct err err;
    if (!cli_parse(run, options, argc, argv, wants_ids ? &arguments->ids : NULL, &jobs->status))
        return false;
    if (wants_ids && arguments->ids.count == 0) {
        jobs->status = cli_usage(run, "name at least one evaluation (`warpgym jobs list`)");
    } else if (!cli_settings(&jobs->settings, &arguments->sets)) {
        jobs->status = EXIT_USAGE;
    } else {
        cli_catch_signals();
        if (remote_open(&jobs->remote, &jobs->settings, arguments->server, &cli_cancelled, &err) ==
            0)
            return true;
        settings_deinit(&jobs->settings);
        jobs->status = cli_fail_err(&err);
    }
    cli_end(options, &arguments->ids, jobs->status);
    return false;
}

static int jobs_close(struct jobs *jobs, const struct cli_option *options)
{
    remote_close(jobs->remote);
    settings_deinit(&jobs->settings);
    return cli_end(options, &jobs->arguments.ids, jobs->status);
}

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

static void add_page(struct jobs *jobs, struct jobs_table *table, const json_t *page, size_t *left)
{
    const json_t *items = json_object_get(page, "evaluations");
    for (size_t i = 0; i < json_array_size(items) && *left > 0; i++, --*left) {
        const json_t *item = json_array_get(items, i);
        struct remote_evaluation evaluation;
        struct err err;
        if (jobs->arguments.json)
            cli_print_json(item, OUT_BYTES);
        else if (remote_read(item, &evaluation, &err) == 0)
            jobs_table_add(table, &evaluation);
    }
}

static int list_all(struct jobs *jobs, struct jobs_table *table, struct err *err)
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

int jobs_list_main(int argc, char **argv)
{
    struct jobs jobs = {.arguments = {.limit = 20}};
    struct arguments *arguments = &jobs.arguments;
    struct err err;
    const struct cli_option options[] = {
        SERVER_OPTION(arguments),
        OPTION_SET(&arguments->sets),
        OPTION_STRING(0, "state", &arguments->state, "STATE", "queued, running, done or cancelled"),
        OPTION_STRING(0, "batch", &arguments->batch, "ID", "those of one batch"),
        OPTION_INT('n', "limit", &arguments->limit, 1, 100000, "N", "how many, the newest"),
        OPTION_FLAG(0, "json", &arguments->json, "one evaluation a line instead of the table"),
        OPTION_END,
    };
    if (!jobs_open(&jobs, jobs_list_main, options, argc, argv, false))
        return jobs.status;
    struct jobs_table *table = jobs_table_new();
    if (list_all(&jobs, table, &err) < 0)
        jobs_fail(&jobs, &err);
    else if (!arguments->json)
        jobs_table_print(table);
    jobs_table_free(table);
    return jobs_close(&jobs, options);
}

/* Evaluations that have ended, as eval prints them. */
struct endings {
    struct eval_report report;
    int64_t start_ns;
};

static int endings_init(struct endings *endings, bool json, struct err *err)
{
    endings->start_ns = clock_now_ns();
    int result = eval_report_init(&endings->report, json, true, NULL, err);
    endings->report.progress = progress_new(STDERR_FILENO, "judging", 0, true);
    return result;
}

static void add_ending(struct endings *endings, const struct remote_evaluation *evaluation)
{
    struct verdict verdict;
    remote_verdict(evaluation, &verdict);
    eval_report_verdict(&endings->report, NULL, &verdict);
    verdict_deinit(&verdict);
}

static void endings_print(struct jobs *jobs, struct endings *endings)
{
    eval_report_finish(&endings->report, clock_ms_since(endings->start_ns) * 1e-3);
    if (endings->report.broken > 0)
        add_status(jobs, EXIT_INFRASTRUCTURE);
    else if (endings->report.failed > 0)
        add_status(jobs, EXIT_SOME_FAILED);
    eval_report_deinit(&endings->report);
}

static void show_one(struct jobs *jobs, struct endings *endings, struct jobs_table *waiting,
                     const char *id)
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
        cli_print_json(object, OUT_BYTES);
    else if (remote_is_ended(&evaluation))
        add_ending(endings, &evaluation);
    else
        jobs_table_add(waiting, &evaluation);
    json_decref(object);
}

int jobs_show_main(int argc, char **argv)
{
    struct jobs jobs = {0};
    struct arguments *arguments = &jobs.arguments;
    struct endings endings;
    struct err err;
    const struct cli_option options[] = {
        SERVER_OPTION(arguments),
        OPTION_SET(&arguments->sets),
        OPTION_FLAG(0, "json", &arguments->json, "the server's own objects, one a line"),
        OPTION_END,
    };
    if (!jobs_open(&jobs, jobs_show_main, options, argc, argv, true))
        return jobs.status;
    struct jobs_table *waiting = jobs_table_new();
    if (endings_init(&endings, false, &err) < 0)
        jobs_fail(&jobs, &err);
    for (size_t i = 0; i < arguments->ids.count && !cli_cancelled; i++)
        show_one(&jobs, &endings, waiting, arguments->ids.items[i]);
    jobs_table_print(waiting);
    endings_print(&jobs, &endings);
    jobs_table_free(waiting);
    return jobs_close(&jobs, options);
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
static int watch_one(struct jobs *jobs, struct endings *endings, const char *id, struct err *err)
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
            add_ending(endings, &evaluation);
        if (result == 0) {
            shown = evaluation.state;
            wait_ms = shown == REMOTE_QUEUED ? FIRST_WAIT_MS : REMOTE_WAIT_MS;
        }
        json_decref(object);
        if (result < 0 || ended)
            return result;
    }
}

int jobs_watch_main(int argc, char **argv)
{
    struct jobs jobs = {0};
    struct arguments *arguments = &jobs.arguments;
    struct endings endings;
    struct err err;
    const struct cli_option options[] = {
        SERVER_OPTION(arguments),
        OPTION_SET(&arguments->sets),
        OPTION_FLAG(0, "json", &arguments->json, "one verdict a line instead of the table"),
        OPTION_END,
    };
    if (!jobs_open(&jobs, jobs_watch_main, options, argc, argv, true))
        return jobs.status;
    if (endings_init(&endings, arguments->json, &err) < 0)
        jobs_fail(&jobs, &err);
    for (size_t i = 0; i < arguments->ids.count && !cli_cancelled; i++)
        if (watch_one(&jobs, &endings, arguments->ids.items[i], &err) < 0)
            jobs_fail(&jobs, &err);
    endings_print(&jobs, &endings);
    return jobs_close(&jobs, options);
}

int jobs_cancel_main(int argc, char **argv)
{
    struct jobs jobs = {0};
    struct arguments *arguments = &jobs.arguments;
    struct err err;
    bool batch = false;
    const struct cli_option options[] = {
        SERVER_OPTION(arguments),
        OPTION_SET(&arguments->sets),
        OPTION_FLAG(0, "batch", &batch, "each ID is a batch: cancel its unfinished evaluations"),
        OPTION_END,
    };
    if (!jobs_open(&jobs, jobs_cancel_main, options, argc, argv, true))
        return jobs.status;
    for (size_t i = 0; i < arguments->ids.count && !cli_cancelled; i++) {
        const char *id = arguments->ids.items[i];
        if ((batch ? remote_cancel_batch : remote_cancel)(jobs.remote, id, &err) < 0)
            jobs_fail(&jobs, &err);
    }
    return jobs_close(&jobs, options);
}
