/* report: figures of trajectories, as tables, JSON or a page. */
#include "gym/report/report.h"

#include "base/file.h"
#include "base/limits.h"
#include "cli/cli.h"
#include "cli/report_table.h"
#include "rl/run/run_view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct arguments {
    const char *html, *k, *p, *problems;
    int64_t samples;
    int by;
    bool json, sound;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* "0.8,1,2": sorted, without duplicates. */
static int read_numbers(const char *option, const char *text, double low, double high, bool whole,
                        double *numbers, size_t *count, struct err *err)
{
    const char *at = text;
    *count = 0;
    do {
        char *end;
        double value = strtod(at, &end);
        if (end == at || (*end && *end != ','))
            return err_set(err, ERR_INPUT, "--%s: '%.100s' is not a list of numbers like 1,2,4",
                           option, text);
        if (!(value >= low && value <= high) || (whole && value != floor(value)))
            return err_set(err, ERR_INPUT, "--%s: %g is not %s from %g to %g", option, value,
                           whole ? "a whole number" : "a number", low, high);
        if (*count == REPORT_THRESHOLDS)
            return err_set(err, ERR_INPUT, "--%s: more than %d numbers", option, REPORT_THRESHOLDS);
        numbers[(*count)++] = value;
        at = *end ? end + 1 : NULL;
    } while (at);
    qsort(numbers, *count, sizeof *numbers, by_value);
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++)
        if (kept == 0 || numbers[i] != numbers[kept - 1])
            numbers[kept++] = numbers[i];
    *count = kept;
    return 0;
}

static int read_thresholds(const struct arguments *arguments, struct report_options *options,
                           struct err *err)
{
    double k[REPORT_THRESHOLDS];
    int result = read_numbers("p", arguments->p, 0.001, 1e6, false, options->p, &options->p_count,
                              err);
    if (result == 0)
        result = read_numbers("k", arguments->k, 1, 1e6, true, k, &options->k_count, err);
    for (size_t i = 0; result == 0 && i < options->k_count; i++)
        options->k[i] = (size_t)k[i];
    return result;
}

/* Names in a file: one a line, or {"problem": NAME}; `#` begins a comment. */
static int read_name(const char *path, size_t number, char *line, struct arena *arena,
                     struct cli_words *names, struct err *err)
{
    line += strspn(line, " \t\r");
    line[strcspn(line, "\r")] = '\0';
    size_t length = strlen(line);
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t'))
        line[--length] = '\0';
    if (*line == '\0' || *line == '#')
        return 0;
    if (*line != '{') {
        cli_words_add(names, arena_strdup(arena, line));
        return 0;
    }
    json_t *object;
    const char *name;
    int result = json_parse_line(path, number, line, length, &object, err);
    if (result < 0)
        return result;
    result = json_get_string(object, "problem", &name, err);
    if (result == 0)
        cli_words_add(names, arena_strdup(arena, name));
    else
        err_prefix(err, "%s:%zu", path, number);
    json_decref(object);
    return result;
}

static int by_name(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

static int read_names(const char *path, struct arena *arena, struct cli_words *names,
                      struct err *err)
{
    char *text, *rest;
    size_t count, number = 0, kept = 0;
    int result = file_read(path, LIMIT_JSONL_LINE_BYTES, &text, &count, err);
    if (result < 0)
        return result;
    rest = text;
    for (char *line; result == 0 && (line = strsep(&rest, "\n"));)
        result = read_name(path, ++number, line, arena, names, err);
    mem_free(text);
    if (result < 0)
        return result;
    if (!names->items)
        return err_set(err, ERR_INPUT, "%s: names no problem", path);
    qsort(names->items, names->count, sizeof *names->items, by_name);
    for (size_t i = 0; i < names->count; i++)
        if (kept == 0 || strcmp(names->items[i], names->items[kept - 1]) != 0)
            names->items[kept++] = names->items[i];
    names->count = kept;
    return 0;
}

/* --problems: a number, or a file of names. */
static int read_problems(const char *text, struct report_options *options, struct arena *arena,
                         struct cli_words *names, struct err *err)
{
    if (!text)
        return 0;
    if (*text && text[strspn(text, "0123456789")] == '\0') {
        errno = 0;
        unsigned long total = strtoul(text, NULL, 10);
        if (errno != 0 || total == 0 || total > LIMIT_TRAJECTORIES)
            return err_set(err, ERR_INPUT, "--problems: %.40s is not a number from 1 to %d", text,
                           LIMIT_TRAJECTORIES);
        options->problem_total = total;
        return 0;
    }
    int result = read_names(text, arena, names, err);
    if (result < 0)
        return err_prefix(err, "--problems");
    options->problems = names->items;
    options->problem_count = names->count;
    return 0;
}

static int write_html(const struct report *report, const char *path, struct err *err)
{
    struct buf page;
    buf_init(&page, LIMIT_REPORT_BYTES);
    int result = report_html(report, NULL, &page, err);
    if (result == 0)
        result = cli_write(&page, path, err);
    buf_deinit(&page);
    return result;
}

static int write_all(struct cli_call *call, const struct report *report,
                     const struct arguments *arguments, struct err *err)
{
    int result = arguments->html ? write_html(report, arguments->html, err) : 0;
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
    struct report_options options = {.by = (enum report_grouping)arguments->by,
                                     .samples = (size_t)arguments->samples,
                                     .sound = arguments->sound};
    struct cli_words names = {0};
    struct arena arena = {0};
    struct report *report = NULL;
    int result = refuse_training(&call->words, err);
    if (result == 0)
        result = read_thresholds(arguments, &options, err);
    if (result == 0)
        result = read_problems(arguments->problems, &options, &arena, &names, err);
    if (result == 0)
        result = report_open(&report, call->words.items, call->words.count, &options, err);
    if (result == 0)
        result = write_all(call, report, arguments, err);
    report_close(report);
    cli_words_deinit(&names);
    arena_deinit(&arena);
    return result;
}

int report_main(struct cli_call *call)
{
    static const char *const groupings[] = {
#define X(symbol, name) [symbol] = name,
        REPORT_GROUPINGS(X)
#undef X
            NULL};
    struct arguments arguments = {.k = "1,4,8", .p = "0.8,1,1.5,2,3"};
    const struct cli_option options[] = {
        OPTION_GROUP("What is counted"),
        OPTION_STRING(0, "problems", &arguments.problems, "N|FILE",
                      "all requested problems: their number, or a file with a name a line; missing "
                      "ones count as not solved"),
        OPTION_INT(0, "samples", &arguments.samples, 0, 1000000, "N",
                   "requested samples of each problem; default: the largest number present"),
        OPTION_FLAG(0, "sound", &arguments.sound,
                    "leave out problems that can be gamed (problem_audit of the verdicts)"),
        OPTION_STRING(0, "p", &arguments.p, "LIST", "speedups of fast_p (0.8,1,1.5,2,3)"),
        OPTION_STRING(0, "k", &arguments.k, "LIST", "samples of pass@k (1,4,8)"),
        OPTION_CHOICE(0, "by", &arguments.by, groupings, "WHAT", "one more table, by this key"),
        OPTION_GROUP("Output"),
        OPTION_FLAG(0, "json", &arguments.json, "one JSON object instead of tables"),
        OPTION_STRING(0, "html", &arguments.html, "FILE",
                      "also write a page with plots and every candidate; - prints it instead"),
        OPTION_END,
    };
    return cli_run(call, options, report_run, &arguments);
}
