#include "cli/cli.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/eval/remote.h"
#include "cli/eval/report.h"
#include "cli/eval/resume.h"
#include "cli/eval/summary.h"
#include "cli/eval/tasks.h"
#include "cli/open_evaluator.h"
#include "gym/report/report.h"
#include "judge/request/external_language.h"
#include "judge/request/judge_settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

struct arguments {
    const char *problem, *out, *html;
    struct cli_where where;
    const struct cli_words *sets;
    bool json, quiet, timing, fresh;
    int64_t jobs;
};

static void report_error(const struct err *err)
{
    cli_fail(0, "%s", err->text);
}

static int exit_status(const struct eval_report *report, const struct eval_tasks *tasks, int result)
{
    if (result == ERR_CANCELLED)
        return EXIT_INTERRUPTED;
    if (result == ERR_INPUT || result == ERR_MISSING)
        return EXIT_USAGE;
    if (result < 0 || report->broken > 0 || report->write_failed)
        return EXIT_INFRASTRUCTURE;
    if (tasks->complaints > 0)
        return EXIT_USAGE;
    return report->failed + report->failed_before > 0 ? EXIT_SOME_FAILED : EXIT_PASSED;
}

static int judge_here(const struct arguments *arguments, const struct settings *settings,
                      const struct eval_tasks *tasks, size_t count, struct eval_report *report,
                      struct err *err)
{
    struct judge_options options = {.settings = settings,
                                    .cancelled = &cli_cancelled,
                                    .no_timing = !arguments->timing};
    struct judge *judge;
    int jobs = arguments->jobs > 0 ? (int)arguments->jobs : 1;
    int result = judge_open(&judge, &options, err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < count; i++)
        judge_warm(judge, tasks->items[i].problem->format, tasks->items[i].candidate.path);
    result = batch_run(judge, tasks->items, count, jobs, &cli_cancelled, eval_report_verdict,
                       eval_report_tick, report, err);
    judge_close(judge);
    return result;
}

static int judge_there(const struct arguments *arguments, const struct settings *settings,
                       struct eval_tasks *tasks, size_t count, struct eval_report *report,
                       struct err *err)
{
    struct eval_remote remote = {.settings = settings,
                                 .url = arguments->where.server,
                                 .assignments = arguments->sets,
                                 .timing = arguments->timing,
                                 .fresh = arguments->fresh,
                                 .at_once = arguments->jobs,
                                 .cancelled = &cli_cancelled,
                                 .tasks = tasks};
    return eval_remote_run(&remote, count, report, err);
}

static int judge_all(const struct arguments *arguments, const struct settings *settings,
                     struct eval_tasks *tasks, struct eval_report *report)
{
    struct err err = {0};
    int64_t start_ns = clock_now_ns();
    size_t count = tasks->count;
    size_t skipped = report->resumable ? eval_resume(report->out_path, report->timed, tasks->items,
                                                     &count, &report->failed_before)
                                       : 0;
    if (skipped && !arguments->quiet)
        fprintf(stderr, "warpgym: %zu already judged in %s\n", skipped, report->out_path);
    if (count == 0)
        return 0;
    bool quiet = arguments->quiet || count == 1;
    report->quiet = arguments->quiet;
    report->progress = progress_new(STDERR_FILENO, "judging", count, quiet);
    log_set_hooks(progress_hide, progress_show, report->progress);
    int result = cli_is_remote(&arguments->where, settings)
                     ? judge_there(arguments, settings, tasks, count, report, &err)
                     : judge_here(arguments, settings, tasks, count, report, &err);
    log_set_hooks(NULL, NULL, NULL);
    eval_report_finish(report, clock_ms_since(start_ns) * 1e-3);
    if (result == ERR_CANCELLED)
        fprintf(stderr, "warpgym: interrupted; %" PRIu64 " of %zu judged\n",
                report->passed + report->failed, count);
    else if (result < 0)
        report_error(&err);
    return result;
}

/* Where the verdicts go, unless --out says so: to a directory of KernelBench's answers, as its own
 * results do, so that the same command goes on. NULL: nowhere. */
static char *verdicts_path(const struct arguments *arguments, const struct cli_words *words,
                           const struct eval_tasks *tasks)
{
    if (arguments->out)
        return mem_strdup(arguments->out);
    bool answers = tasks->kernelbench > 0 && words->count == 1 &&
                   file_is_directory(words->items[0]) && access(words->items[0], W_OK) == 0;
    return answers ? mem_printf("%s/" REPORT_VERDICTS, words->items[0]) : NULL;
}

/* A file without a name for what is to be summarized only. */
static char *nameless_file(int *fd)
{
    *fd = memfd_create("verdicts", MFD_CLOEXEC);
    return *fd < 0 ? NULL : mem_printf("/proc/self/fd/%d", *fd);
}

static int summarize(const struct arguments *arguments, const struct cli_call *call,
                     const struct eval_report *report)
{
    struct err err;
    const struct eval_summary summary = {.path = report->out_path,
                                         .name = call->words.items[0],
                                         .html = arguments->html,
                                         .table = !arguments->json,
                                         .search_paths = &call->search_paths};
    return eval_summary(&summary, &err) < 0 ? cli_fail(EXIT_USAGE, "%s", err.text) : 0;
}

static int judge_and_report(const struct arguments *arguments, const struct cli_call *call,
                            struct eval_tasks *tasks, struct err *err)
{
    struct eval_report report;
    int fd = -1;
    bool summary = arguments->html || tasks->kernelbench > 1;
    char *out = verdicts_path(arguments, &call->words, tasks);
    if (!out && summary)
        out = nameless_file(&fd);
    int status = EXIT_USAGE;
    if (eval_report_init(&report, arguments->json, arguments->timing, out, err) < 0) {
        cli_fail(EXIT_USAGE, "%s", err->text);
    } else if (tasks->count > 0) {
        int result = judge_all(arguments, &call->settings, tasks, &report);
        status = exit_status(&report, tasks, result);
        if (summary && report.resumable && result == 0) {
            int failed = summarize(arguments, call, &report);
            status = failed ? failed : status;
        }
    }
    eval_report_deinit(&report);
    if (fd >= 0)
        close(fd);
    mem_free(out);
    return status;
}

static int eval_run(struct cli_call *call, void *context, struct err *err)
{
    struct arguments *arguments = context;
    const struct settings *settings = &call->settings;
    struct eval_tasks tasks;
    struct arena arena = {0};
    arguments->sets = &call->sets;
    if (cli_check_output(call, "--out", arguments->out, arguments->problem, err) < 0 ||
        cli_check_output(call, "--html", arguments->html, arguments->problem, err) < 0)
        return err->code;
    eval_tasks_init(&tasks, &call->search_paths, report_error);
    tasks.remote = cli_is_remote(&arguments->where, settings);
    int result = external_load(&tasks.languages, &arena, languages_settings(settings)->path, err);
    if (result == 0) {
        for (size_t i = 0; i < call->words.count; i++)
            eval_tasks_add(&tasks, arguments->problem, call->words.items[i]);
        cli_catch_signals(); /* until here Ctrl-C ends it, which may wait for standard input */
        result = judge_and_report(arguments, call, &tasks, err);
    }
    eval_tasks_deinit(&tasks);
    arena_deinit(&arena);
    return result;
}

int eval_main(struct cli_call *call)
{
    struct arguments arguments = {.timing = true};
    const struct cli_option options[] = {
        OPTION_STRING('p', "problem", &arguments.problem, "ID|PATH",
                      "the problem: an id (`warpgym problem list`), a problem directory, or a "
                      "KernelBench-style module"),
        OPTION_PROBLEMS,
        OPTION_INT('j', "jobs", &arguments.jobs, 1, 1024, "N",
                   "evaluations at the same time; 1, with a server 1000"),
        OPTION_FLAG(0, "timing", &arguments.timing, "time it, too; --no-timing: correctness only"),
        OPTION_SET,
        OPTION_GROUP("Where"),
        OPTION_STRING(0, "server", &arguments.where.server, "URL",
                      "judge on a server (http://HOST:PORT); default client.url"),
        OPTION_FLAG(0, "local", &arguments.where.local, "judge here, whatever client.url says"),
        OPTION_FLAG(0, "fresh", &arguments.fresh,
                    "on a server: judge again even if it has a verdict"),
        OPTION_GROUP("Output"),
        OPTION_FLAG(0, "json", &arguments.json, "one verdict a line instead of the table"),
        OPTION_STRING(
            'o', "out", &arguments.out, "FILE",
            "append verdicts as JSON lines; what it already holds is not judged again; of a "
            "directory of KernelBench's answers: its " REPORT_VERDICTS),
        OPTION_STRING(0, "html", &arguments.html, "FILE",
                      "also write the page of `warpgym report`: figures and every answer"),
        OPTION_FLAG('q', "quiet", &arguments.quiet, "no progress"),
        OPTION_END,
    };
    return cli_run(call, options, eval_run, &arguments);
}
