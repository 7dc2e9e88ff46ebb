/* problem list, show, check. */
#include "cli/cli.h"

#include "base/json.h"
#include "cli/search_paths.h"
#include "cli/table.h"
#include "judge/problem_audit.h"
#include "problem/load.h"
#include "problem/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OUT_BYTES ((size_t)16 << 20)

struct arguments {
    struct cli_words search_paths, sets, words;
    bool json, all, verbose;
};

static const char *format_name(enum problem_format format)
{
    return format == PROBLEM_NATIVE ? "native" : "torch";
}

static void list_one(const struct suite_entry *entry, bool json, struct table *table,
                     struct buf *out)
{
    struct problem problem;
    struct err err;
    bool loaded = problem_load(&problem, entry->path, entry->id, &err) == 0;
    const char *summary = loaded ? problem.summary : err.text;
    if (json) {
        json_t *object = json_object();
        json_put(object, "id", json_text(entry->id));
        json_put(object, "format", json_text(format_name(entry->format)));
        json_put(object, "path", json_text(entry->path));
        json_put(object, "hash", json_text(loaded ? problem.hash : NULL));
        json_put(object, "summary", json_text(loaded ? problem.summary : NULL));
        json_put(object, "error", json_text(loaded ? NULL : err.text));
        (void)!json_line_write(object, out, &err);
        json_decref(object);
    } else {
        table_cell(table, STYLE_STRONG, "%s", entry->id);
        table_cell(table, STYLE_NONE, "%s", format_name(entry->format));
        table_cell(table, loaded ? STYLE_NONE : STYLE_BAD, "%s", summary);
    }
    if (loaded)
        problem_deinit(&problem);
}

static int problem_list(const struct arguments *arguments, const struct paths_list *search_paths)
{
    struct suite suite;
    struct err err;
    struct buf out;
    if (suite_open(&suite, search_paths->items, search_paths->count, &err) < 0)
        return cli_fail(EXIT_USAGE, "%s", err.text);
    struct table *table = table_new();
    table_column(table, "problem", TABLE_LEFT);
    table_column(table, "format", TABLE_LEFT);
    table_column(table, "what it computes", TABLE_LEFT);
    buf_init(&out, OUT_BYTES);
    for (size_t i = 0; i < suite.count; i++)
        list_one(&suite.entries[i], arguments->json, table, &out);
    if (!arguments->json)
        table_render(table, style_wanted(STDOUT_FILENO), &out);
    cli_print(&out);
    buf_deinit(&out);
    table_free(table);
    suite_close(&suite);
    return EXIT_PASSED;
}

static const char *const role_names[] = {"in", "out", "inout", "size", "scalar"};

static void show_argument(const struct problem *problem, uint32_t index, struct buf *out)
{
    const struct argument *argument = &problem->arguments[index];
    buf_printf(out, "  %-12s %-7s %-5s", argument->name, role_names[argument->role],
               argument->role == ROLE_SIZE ? "" : dtype_facts(argument->dtype)->name);
    for (uint32_t d = 0; d < argument->dimensions; d++)
        buf_printf(out, "%s%s", d ? ", " : " [", expression_text(argument->shape[d]));
    buf_puts(out, argument->dimensions ? "]\n" : "\n");
}

static void show_sizes(const struct problem *problem, const char *title,
                       const struct size_set *sets, uint32_t count, struct buf *out)
{
    char text[256];
    for (uint32_t i = 0; i < count; i++) {
        problem_sizes_text(problem, &sets[i], text, sizeof text);
        buf_printf(out, "%-10s %s\n", i ? "" : title, text);
    }
}

static void show_native(const struct problem *problem, struct buf *out)
{
    buf_printf(out, "signature  %s\narguments\n", problem->signature);
    for (uint32_t i = 0; i < problem->argument_count; i++)
        show_argument(problem, i, out);
    if (problem->tolerance.exact)
        buf_puts(out, "tolerance  exact\n");
    else
        buf_printf(out, "tolerance  %g relative%s, %g absolute%s\n", problem->tolerance.relative,
                   problem->tolerance.scale == SCALE_RMS ? " to max(|expected|, rms)" : "",
                   problem->tolerance.absolute,
                   problem->oracle ? ", against a double-precision oracle" : "");
    show_sizes(problem, "check", problem->check, problem->check_count, out);
    if (problem->has_draw) {
        buf_puts(out, "secret    ");
        for (uint32_t i = 0; i < problem->size_count; i++)
            buf_printf(out, " %s=%lld..%lld", problem->size_names[i],
                       (long long)problem->draw[i].low, (long long)problem->draw[i].high);
        buf_puts(out, "\n");
    }
    show_sizes(problem, "time", problem->time, problem->time_count, out);
    if (problem->time_count)
        buf_printf(out, "work       %.4g flops, %.4g bytes at the time size\n",
                   problem_flops(problem, &problem->time[0]),
                   problem_bytes(problem, &problem->time[0]));
}

static int problem_show(const struct arguments *arguments, const struct paths_list *search_paths)
{
    struct problem problem;
    struct err err;
    struct buf out;
    if (arguments->words.count != 1)
        return cli_fail(EXIT_USAGE, "problem show: name one problem");
    if (suite_load(search_paths->items, search_paths->count, arguments->words.items[0], &problem,
                   &err) < 0)
        return cli_fail(EXIT_USAGE, "%s", err.text);
    buf_init(&out, OUT_BYTES);
    buf_printf(&out, "%s — %s\n\nformat     %s\nhash       %s\nfile       %s\n", problem.id,
               problem.summary, format_name(problem.format), problem.hash,
               problem.format == PROBLEM_NATIVE ? problem.yaml_path : problem.reference_path);
    if (problem.category[0])
        buf_printf(&out, "category   %s\n", problem.category);
    if (problem.format == PROBLEM_NATIVE)
        show_native(&problem, &out);
    buf_printf(&out, "\n%s\n\n", problem.reference_path);
    buf_append(&out, problem.reference_text, problem.reference_bytes);
    cli_print(&out);
    buf_deinit(&out);
    problem_deinit(&problem);
    return EXIT_PASSED;
}

static void check_json(const struct problem *problem, const struct problem_audit *audit,
                       const struct err *err, struct buf *out)
{
    json_t *object = json_object();
    json_t *attempts = json_array();
    struct err ignored;
    for (size_t i = 0; i < audit->count; i++) {
        const struct attempt *attempt = &audit->attempts[i];
        json_t *row = json_object();
        json_put(row, "attempt", json_text(attempt->name));
        json_put(row, "code", json_text(attempt->code));
        json_put(row, "trials", json_integer(attempt->trials));
        json_put(row, "let_through", json_integer(attempt->passed));
        json_put(row, "error_in_tolerances", json_number(attempt->worst_error));
        json_array_append_new(attempts, row);
    }
    json_put(object, "problem", json_text(problem->id));
    json_put(object, "gamed", err ? json_null() : json_boolean(problem_audit_gamed(audit)));
    json_put(object, "deterministic", json_boolean(audit->deterministic));
    json_put(object, "own_error_in_tolerances", json_number(audit->own_error));
    json_put(object, "attempts", attempts);
    json_put(object, "error", json_text(err ? err->text : NULL));
    (void)!json_line_write(object, out, &ignored);
    json_decref(object);
}

static void check_text(const struct problem *problem, const struct problem_audit *audit,
                       bool verbose, struct buf *out)
{
    bool colour = style_wanted(STDOUT_FILENO);
    bool gamed = problem_audit_gamed(audit);
    size_t refused = 0;
    for (size_t i = 0; i < audit->count; i++)
        refused += audit->attempts[i].passed < audit->attempts[i].trials;
    buf_printf(out, "%-28s ", problem->id);
    style_puts(out, colour, gamed ? STYLE_BAD : STYLE_GOOD, gamed ? "can be gamed" : "sound");
    buf_printf(out, "  %zu of %zu attempts refused in %u trials", refused, audit->count,
               audit->trials);
    if (isfinite(audit->own_error))
        buf_printf(out, "; the reference errs by %.2g tolerances", audit->own_error);
    buf_puts(out, "\n");
    if (!audit->deterministic)
        buf_puts(out, "    two runs of the reference differ\n");
    if (audit->own_error > 1)
        buf_puts(out, "    the reference itself is outside the tolerance of its oracle\n");
    for (size_t i = 0; i < audit->count; i++) {
        const struct attempt *attempt = &audit->attempts[i];
        bool through = attempt->trials > 0 && attempt->passed == attempt->trials;
        if (through)
            buf_printf(out, "    %s accepted: %s (%s): errs by %.2g tolerances at most\n",
                       attempt->code, attempt->name, "in every trial", attempt->worst_error);
        else if (verbose)
            buf_printf(out, "    %s refused in %u of %u: %s, %.3g tolerances\n", attempt->code,
                       attempt->trials - attempt->passed, attempt->trials, attempt->name,
                       attempt->worst_error);
    }
}

static int check_one(struct judge *judge, const struct arguments *arguments,
                     const struct problem *problem)
{
    struct problem_audit audit;
    struct err err = {0};
    struct buf out;
    int status = EXIT_PASSED;
    buf_init(&out, OUT_BYTES);
    int result = problem_audit_run(judge, problem, &audit, &err);
    if (result == 0)
        status = problem_audit_gamed(&audit) ? EXIT_SOME_FAILED : EXIT_PASSED;
    else
        status = cli_status(&err);
    if (arguments->json)
        check_json(problem, &audit, result < 0 ? &err : NULL, &out);
    else if (result == 0)
        check_text(problem, &audit, arguments->verbose, &out);
    else
        cli_fail(0, "%s: %s", problem->id, err.text);
    cli_print(&out);
    buf_deinit(&out);
    problem_audit_deinit(&audit);
    return status;
}

static int check_named(struct judge *judge, const struct arguments *arguments,
                       const struct paths_list *search_paths, const char *name)
{
    struct problem problem;
    struct err err;
    if (suite_load(search_paths->items, search_paths->count, name, &problem, &err) < 0)
        return cli_fail(EXIT_USAGE, "%s", err.text);
    int status = check_one(judge, arguments, &problem);
    problem_deinit(&problem);
    return status;
}

static int check_all(struct judge *judge, const struct arguments *arguments,
                     const struct paths_list *search_paths)
{
    struct suite suite;
    struct err err;
    int status = EXIT_PASSED;
    if (suite_open(&suite, search_paths->items, search_paths->count, &err) < 0)
        return cli_fail(EXIT_USAGE, "%s", err.text);
    for (size_t i = 0; i < suite.count && !cli_cancelled; i++) {
        int one = check_named(judge, arguments, search_paths, suite.entries[i].id);
        status = one > status ? one : status;
    }
    suite_close(&suite);
    return cli_cancelled ? EXIT_INTERRUPTED : status;
}

static int run_check(const struct arguments *arguments, const struct settings *settings,
                     const struct paths_list *search_paths)
{
    struct judge_options options = {.settings = settings, .cancelled = &cli_cancelled};
    struct judge *judge;
    struct err err;
    int status = EXIT_PASSED;
    if (arguments->words.count == 0 && !arguments->all)
        return cli_fail(EXIT_USAGE, "problem check: name a problem, or give --all");
    if (judge_open(&judge, &options, &err) < 0)
        return cli_fail_err(&err);
    cli_catch_signals();
    if (arguments->all)
        status = check_all(judge, arguments, search_paths);
    for (size_t i = 0; i < arguments->words.count && !cli_cancelled; i++) {
        int one = check_named(judge, arguments, search_paths, arguments->words.items[i]);
        status = one > status ? one : status;
    }
    judge_close(judge);
    return cli_cancelled ? EXIT_INTERRUPTED : status;
}

enum verb { VERB_LIST, VERB_SHOW, VERB_CHECK };

static int problem_run(enum verb verb, int (*self)(int argc, char **argv), int argc, char **argv)
{
    struct arguments arguments = {0};
    struct settings settings;
    struct paths_list search_paths;
    struct err err;
    int status;
    struct cli_option options[8];
    size_t count = 0;
    options[count++] = (struct cli_option)OPTION_PROBLEMS(&arguments.search_paths);
    options[count++] = (struct cli_option)OPTION_SET(&arguments.sets);
    if (verb != VERB_SHOW)
        options[count++] = (struct cli_option)OPTION_FLAG(0, "json", &arguments.json,
                                                          "one JSON object a line");
    if (verb == VERB_CHECK) {
        options[count++] = (struct cli_option)OPTION_FLAG('a', "all", &arguments.all,
                                                          "every problem");
        options[count++] = (struct cli_option)OPTION_FLAG('v', "verbose", &arguments.verbose,
                                                          "refused attempts, too");
    }
    options[count] = (struct cli_option)OPTION_END;
    if (!cli_parse(self, options, argc, argv, &arguments.words, &status))
        return status;
    status = EXIT_USAGE;
    if (cli_settings(&settings, &arguments.sets)) {
        if (cli_search_paths(&arguments.search_paths, &settings, &search_paths, &err) < 0) {
            status = cli_fail_err(&err);
        } else {
            status = verb == VERB_LIST   ? problem_list(&arguments, &search_paths)
                     : verb == VERB_SHOW ? problem_show(&arguments, &search_paths)
                                         : run_check(&arguments, &settings, &search_paths);
            paths_list_deinit(&search_paths);
        }
        settings_deinit(&settings);
    }
    return cli_end(options, &arguments.words, status);
}

int problem_list_main(int argc, char **argv)
{
    return problem_run(VERB_LIST, problem_list_main, argc, argv);
}

int problem_show_main(int argc, char **argv)
{
    return problem_run(VERB_SHOW, problem_show_main, argc, argv);
}

int problem_check_main(int argc, char **argv)
{
    return problem_run(VERB_CHECK, problem_check_main, argc, argv);
}
