/* problem list, show, check. */
#include "cli/cli.h"

#include "base/clock.h"
#include "judge/audited.h"
#include "problem/loader.h"
#include "problem/suite.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const char *format_name(enum problem_format format)
{
    return format == PROBLEM_NATIVE ? "native" : "torch";
}

/* `table` NULL: as JSON. */
static void list_one(struct cli_call *call, const struct suite_entry *entry, struct table *table)
{
    struct problem problem;
    struct err err;
    bool loaded = problem_load(&problem, entry->path, entry->id, &err) == 0;
    const char *summary = loaded ? problem.summary : err.text;
    if (!table) {
        json_t *object = json_object();
        json_put(object, "id", json_text(entry->id));
        json_put(object, "format", json_text(format_name(entry->format)));
        json_put(object, "path", json_text(entry->path));
        json_put(object, "hash", json_text(loaded ? problem.hash : NULL));
        json_put(object, "summary", json_text(loaded ? problem.summary : NULL));
        json_put(object, "error", json_text(loaded ? NULL : err.text));
        cli_put_json(call, object);
    } else {
        table_cell(table, STYLE_STRONG, "%s", entry->id);
        table_cell(table, STYLE_NONE, "%s", format_name(entry->format));
        table_cell(table, loaded ? STYLE_NONE : STYLE_BAD, "%s", summary);
    }
    if (loaded)
        problem_deinit(&problem);
}

static int problem_list_run(struct cli_call *call, void *arguments, struct err *err)
{
    const bool *json = arguments;
    struct suite suite;
    if (suite_open(&suite, &call->search_paths, err) < 0)
        return cli_fail(EXIT_USAGE, "%s", err->text);
    struct table *table = *json ? NULL : table_new("problem|format|what it computes");
    for (size_t i = 0; i < suite.count; i++)
        list_one(call, &suite.entries[i], table);
    if (table)
        cli_put_table(call, table);
    suite_close(&suite);
    return EXIT_PASSED;
}

int problem_list_main(struct cli_call *call)
{
    bool json = false;
    const struct cli_option options[] = {
        OPTION_PROBLEMS,
        OPTION_SET,
        OPTION_FLAG(0, "json", &json, "one JSON object a line"),
        OPTION_END,
    };
    return cli_run(call, options, problem_list_run, &json);
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

static int problem_show_run(struct cli_call *call, void *arguments, struct err *err)
{
    struct problem problem;
    struct buf *out = &call->out;
    if (suite_load(&call->search_paths, call->words.items[0], &problem, err) < 0)
        return cli_fail(EXIT_USAGE, "%s", err->text);
    buf_printf(out, "%s — %s\n\nformat     %s\nhash       %s\nfile       %s\n", problem.id,
               problem.summary, format_name(problem.format), problem.hash,
               problem.format == PROBLEM_NATIVE ? problem.yaml_path : problem.reference_path);
    if (problem.category[0])
        buf_printf(out, "category   %s\n", problem.category);
    if (problem.format == PROBLEM_NATIVE)
        show_native(&problem, out);
    buf_printf(out, "\n%s\n\n", problem.reference_path);
    buf_append(out, problem.reference_text, problem.reference_bytes);
    problem_deinit(&problem);
    return EXIT_PASSED;
}

int problem_show_main(struct cli_call *call)
{
    const struct cli_option options[] = {OPTION_PROBLEMS, OPTION_SET, OPTION_END};
    return cli_run(call, options, problem_show_run, NULL);
}

struct check {
    struct cli_call *call;
    struct judge *judge;
    bool json, all, verbose;
};

static json_t *check_json(const struct problem *problem, const struct problem_audit *audit,
                          const struct err *err)
{
    json_t *object = json_object();
    json_t *attempts = json_array();
    for (size_t i = 0; i < audit->count; i++) {
        const struct attempt *attempt = &audit->attempts[i];
        json_t *row = json_object();
        json_put(row, "attempt", json_text(attempt->name));
        json_put(row, "code", json_text(attempt->code));
        json_put(row, "trials", json_integer(attempt->trials));
        json_put(row, "let_through", json_integer(attempt->passed));
        json_put(row, "error_in_tolerances", json_number(attempt->worst_error));
        json_put(row, "gain", json_number(attempt->gain));
        json_array_append_new(attempts, row);
    }
    json_put(object, "problem", json_text(problem->id));
    json_put(object, "gamed", err ? json_null() : json_boolean(problem_audit_gamed(audit)));
    json_put(object, "deterministic", json_boolean(audit->deterministic));
    json_put(object, "own_error_in_tolerances", json_number(audit->own_error));
    json_put(object, "attempts", attempts);
    json_put(object, "error", json_text(err ? err->text : NULL));
    return object;
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
        if (problem_audit_passed(attempt))
            buf_printf(out, "    %s accepted: %s (%s): errs by %.2g tolerances at most\n",
                       attempt->code, attempt->name, "in every trial", attempt->worst_error);
        else if (verbose && attempt->trials > 0)
            buf_printf(out, "    %s refused in %u of %u: %s, %.3g tolerances\n", attempt->code,
                       attempt->trials - attempt->passed, attempt->trials, attempt->name,
                       attempt->worst_error);
    }
}

/* Each result is printed at once: an audit takes seconds. */
static int check_one(const struct check *check, const struct problem *problem)
{
    struct problem_audit audit;
    struct err err = {0};
    int64_t start_ns = clock_now_ns();
    int result = problem_audit_run(check->judge, problem, NULL, &audit, &err);
    if (result == 0)
        audits_keep(check->judge, problem, &audit, clock_ms_since(start_ns));
    int status = result < 0                    ? cli_status(&err)
                 : problem_audit_gamed(&audit) ? EXIT_SOME_FAILED
                                               : EXIT_PASSED;
    if (check->json)
        cli_put_json(check->call, check_json(problem, &audit, result < 0 ? &err : NULL));
    else if (result == 0)
        check_text(problem, &audit, check->verbose, &check->call->out);
    else
        cli_fail(0, "%s: %s", problem->id, err.text);
    cli_flush(check->call);
    problem_audit_deinit(&audit);
    return status;
}

/* The worst status of the problems so far. */
static int check_named(const struct check *check, const char *name, int status)
{
    const struct paths_list *paths = &check->call->search_paths;
    struct problem problem;
    struct err err;
    int one;
    if (suite_load(paths, name, &problem, &err) < 0) {
        one = cli_fail(EXIT_USAGE, "%s", err.text);
    } else {
        one = check_one(check, &problem);
        problem_deinit(&problem);
    }
    return one > status ? one : status;
}

static int check_all(const struct check *check)
{
    const struct paths_list *paths = &check->call->search_paths;
    struct suite suite;
    struct err err;
    int status = EXIT_PASSED;
    if (suite_open(&suite, paths, &err) < 0)
        return cli_fail(EXIT_USAGE, "%s", err.text);
    for (size_t i = 0; i < suite.count && !cli_cancelled; i++)
        status = check_named(check, suite.entries[i].id, status);
    suite_close(&suite);
    return status;
}

static int problem_check_run(struct cli_call *call, void *arguments, struct err *err)
{
    struct check *check = arguments;
    const struct judge_options options = {.settings = &call->settings, .cancelled = &cli_cancelled};
    if (call->words.count == 0 && !check->all)
        return cli_fail(EXIT_USAGE, "problem check: name a problem, or give --all");
    int result = judge_open(&check->judge, &options, err);
    if (result < 0)
        return result;
    cli_catch_signals();
    check->call = call;
    int status = check->all ? check_all(check) : EXIT_PASSED;
    for (size_t i = 0; i < call->words.count && !cli_cancelled; i++)
        status = check_named(check, call->words.items[i], status);
    judge_close(check->judge);
    return cli_cancelled ? EXIT_INTERRUPTED : status;
}

int problem_check_main(struct cli_call *call)
{
    struct check check = {0};
    const struct cli_option options[] = {
        OPTION_PROBLEMS,
        OPTION_SET,
        OPTION_FLAG(0, "json", &check.json, "one JSON object a line"),
        OPTION_FLAG('a', "all", &check.all, "every problem"),
        OPTION_FLAG('v', "verbose", &check.verbose, "refused attempts, too"),
        OPTION_END,
    };
    return cli_run(call, options, problem_check_run, &check);
}
