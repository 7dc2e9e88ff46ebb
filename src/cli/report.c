/* report: figures of trajectories or verdicts, as tables, JSON or a page. */
#include "gym/report/report.h"

#include "cli/cli.h"
#include "cli/report_options.h"
#include "cli/report_table.h"
#include "rl/run/run_view.h"

#include <string.h>
#include <unistd.h>

struct arguments {
    const char *html, *k, *p, *problems;
    int64_t samples;
    int by;
    bool json, sound;
};

static int write_all(struct cli_call *call, const struct report *report,
                     const struct arguments *arguments, struct err *err)
{
    int result = arguments->html ? report_write_html(report, arguments->html, err) : 0;
    if (result == 0 && arguments->json)
        cli_put_json(call, report_json(report));
    else if (result == 0 && !(arguments->html && strcmp(arguments->html, "-") == 0))
        report_table(report, style_wanted(STDOUT_FILENO), &call->out);
    return result;
}

/* A directory of `warpgym train` has several evaluations, and its own page. */
static int refuse_training(const struct cli_words *runs, struct err *err)
{
    for (size_t i = 0; i < runs->count; i++)
        if (run_kind_of(runs->items[i]) == RUN_RL)
            return err_set(err, ERR_INPUT,
                           "%s is a training run: `warpgym runs report %s` makes its page; this "
                           "command takes its evaluations (%s/evaluations/…)",
                           runs->items[i], runs->items[i], runs->items[i]);
    return 0;
}

static int report_run(struct cli_call *call, void *context, struct err *err)
{
    const struct arguments *arguments = context;
    struct report_options options = {.samples = (size_t)arguments->samples,
                                     .sound = arguments->sound};
    struct report_asked asked = {0};
    struct report *report = NULL;
    int result = cli_check_output(call, "--html", arguments->html, NULL, err);
    if (result == 0)
        result = refuse_training(&call->words, err);
    if (result == 0)
        result = report_read_thresholds(arguments->p, arguments->k, &options, err);
    if (result == 0)
        result = report_read_problems(arguments->problems, &asked, &options, err);
    enum report_grouping standard = options.whole_levels ? REPORT_BY_LEVEL : REPORT_BY_NONE;
    options.by = arguments->by < 0 ? standard : (enum report_grouping)arguments->by;
    if (result == 0)
        result = report_open(&report, call->words.items, call->words.count, &options, err);
    if (result == 0)
        result = write_all(call, report, arguments, err);
    report_close(report);
    report_asked_deinit(&asked);
    return result;
}

int report_main(struct cli_call *call)
{
    static const char *const groupings[] = {
#define X(symbol, name) [symbol] = name,
        REPORT_GROUPINGS(X)
#undef X
            NULL};
    struct arguments arguments = {.k = REPORT_K, .p = REPORT_P, .by = -1};
    const struct cli_option options[] = {
        OPTION_GROUP("What is counted"),
        OPTION_STRING(0, "problems", &arguments.problems, "N|FILE|DIR",
                      "all requested problems: their number, a file with a name a line, or a "
                      "KernelBench checkout (those of the levels that RUN has); missing ones count "
                      "as not solved"),
        OPTION_INT(0, "samples", &arguments.samples, 0, 1000000, "N",
                   "requested samples of each problem; default: the largest number present"),
        OPTION_FLAG(0, "sound", &arguments.sound,
                    "leave out problems that can be gamed (problem_audit of the verdicts)"),
        OPTION_STRING(0, "p", &arguments.p, "LIST", "speedups of fast_p (" REPORT_P ")"),
        OPTION_STRING(0, "k", &arguments.k, "LIST", "samples of pass@k (" REPORT_K ")"),
        OPTION_CHOICE(0, "by", &arguments.by, groupings, "WHAT",
                      "one more table, by this key; with a checkout: level"),
        OPTION_GROUP("Output"),
        OPTION_FLAG(0, "json", &arguments.json, "one JSON object instead of tables"),
        OPTION_STRING(0, "html", &arguments.html, "FILE",
                      "also write a page with plots and every candidate; - prints it instead"),
        OPTION_END,
    };
    return cli_run(call, options, report_run, &arguments);
}
