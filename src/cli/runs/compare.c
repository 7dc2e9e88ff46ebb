/* runs compare: metrics of several runs side by side. */
#include "cli/runs/runs.h"

#include "base/mem.h"
#include "cli/runs/held_out.h"
#include "rl/run/run_settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OUT_BYTES ((size_t)64 << 20)
#define RUNS_MOST 32 /* as the command's row says */
#define OVER 10      /* single steps, a few dozen answers each, are noisy */

struct comparison {
    struct run_view views[RUNS_MOST];
    size_t count;
    uint64_t step; /* common to all runs */
    size_t over;   /* number of steps in the means */
    struct cli_words metrics;
    bool all, json;
    int64_t asked, asked_over;
    struct report *held_out; /* NULL: held_out.h */
    uint64_t held_out_step;
};

static bool has_metric(const struct comparison *comparison, const char *name)
{
    for (size_t i = 0; i < comparison->metrics.count; i++)
        if (strcmp(comparison->metrics.items[i], name) == 0)
            return true;
    return false;
}

static void add_metric(struct comparison *comparison, const char *name)
{
    if (name && !has_metric(comparison, name))
        cli_words_add(&comparison->metrics, name);
}

static void add_standard_metrics(struct comparison *comparison)
{
    for (size_t i = 0; i < runs_measure_count; i++)
        for (size_t run = 0; run < comparison->count; run++)
            add_metric(comparison,
                       runs_measure_name(&runs_measures[i], &comparison->views[run].series));
}

static void add_all_metrics(struct comparison *comparison)
{
    for (size_t run = 0; run < comparison->count; run++)
        for (size_t i = 0; i < comparison->views[run].series.column_count; i++)
            add_metric(comparison, comparison->views[run].series.columns[i].name);
}

static int check_metrics(const struct comparison *comparison, struct err *err)
{
    for (size_t i = 0; i < comparison->metrics.count; i++) {
        bool found = false;
        for (size_t run = 0; run < comparison->count; run++)
            found |= run_series_find(&comparison->views[run].series,
                                     comparison->metrics.items[i]) != NULL;
        if (!found)
            return err_set(err, ERR_INPUT, "no run has the metric '%.100s'; --all shows them",
                           comparison->metrics.items[i]);
    }
    return 0;
}

static int choose_step(struct comparison *comparison, struct err *err)
{
    int64_t asked = comparison->asked;
    comparison->step = UINT64_MAX;
    for (size_t i = 0; i < comparison->count; i++) {
        const struct run_series *series = &comparison->views[i].series;
        if (series->count == 0)
            return err_set(err, ERR_INPUT, "%s has no metrics yet", comparison->views[i].path);
        if (series->steps[series->count - 1] < comparison->step)
            comparison->step = series->steps[series->count - 1];
    }
    if (asked >= 0 && (uint64_t)asked > comparison->step)
        return err_set(err, ERR_INPUT,
                       "step %" PRId64 ": they all have steps up to %" PRIu64 " in common", asked,
                       comparison->step);
    if (asked >= 0)
        comparison->step = (uint64_t)asked;
    return 0;
}

static int read_all_settings(const struct comparison *comparison, struct settings *all,
                             struct err *err)
{
    int result = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        struct err why;
        if (comparison->views[i].kind != RUN_RL)
            settings_init(&all[i]);
        else if (run_settings_read(comparison->views[i].path, &all[i], &why) < 0 && result == 0) {
            result = why.code;
            if (err)
                *err = why;
        }
    }
    return result;
}

static json_t *values_of(const struct comparison *comparison, const struct settings *all,
                         size_t index)
{
    json_t *values = json_array();
    for (size_t i = 0; i < comparison->count; i++) {
        struct buf text;
        buf_init(&text, OUT_BYTES);
        settings_show_value(&all[i], index, &text);
        json_array_append_new(values, comparison->views[i].kind == RUN_RL ? json_text(text.data)
                                                                          : json_null());
        buf_deinit(&text);
    }
    return values;
}

/* {PATH: [value of each run], …} of settings that differ between `train` runs. */
static int settings_differences(const struct comparison *comparison, json_t **out, struct err *err)
{
    struct settings *all = mem_alloc(comparison->count * sizeof *all);
    int result = read_all_settings(comparison, all, err);
    size_t first = 0;
    while (first < comparison->count && comparison->views[first].kind != RUN_RL)
        first++;
    *out = json_object();
    for (size_t i = first + 1; i < comparison->count && result == 0; i++) {
        size_t index = comparison->views[i].kind == RUN_RL
                           ? settings_difference(&all[first], &all[i], 0)
                           : settings_count();
        for (; index < settings_count();
             index = settings_difference(&all[first], &all[i], index + 1))
            json_put(*out, settings_path(index), values_of(comparison, all, index));
    }
    for (size_t i = 0; i < comparison->count; i++)
        settings_deinit(&all[i]);
    mem_free(all);
    return result;
}

static json_t *values_at(const struct comparison *comparison, const struct run_series *series,
                         uint64_t step, bool deviation)
{
    json_t *values = json_object();
    for (size_t i = 0; i < comparison->metrics.count; i++) {
        const char *name = comparison->metrics.items[i];
        struct run_mean mean = run_series_mean(series, name, step, comparison->over);
        json_put(values, name, json_number(deviation ? mean.deviation : mean.value));
    }
    return values;
}

static json_t *comparison_json(const struct comparison *comparison, json_t *settings)
{
    json_t *object = json_object(), *runs = json_array();
    for (size_t i = 0; i < comparison->count; i++) {
        const struct run_view *view = &comparison->views[i];
        json_t *run = json_object();
        json_put(run, "run", json_text(view->path));
        json_put(run, "state", json_text(run_state_names[view->state]));
        json_put(run, "step", json_integer((json_int_t)view->step));
        json_put(run, "at", values_at(comparison, &view->series, comparison->step, false));
        json_put(run, "at_deviation", values_at(comparison, &view->series, comparison->step, true));
        json_put(run, "final", values_at(comparison, &view->series, UINT64_MAX, false));
        json_put(run, "final_deviation", values_at(comparison, &view->series, UINT64_MAX, true));
        json_array_append_new(runs, run);
    }
    json_put(object, "step", json_integer((json_int_t)comparison->step));
    json_put(object, "over", json_integer((json_int_t)comparison->over));
    json_put(object, "runs", runs);
    json_put(object, "held_out",
             comparison->held_out ? report_json(comparison->held_out) : json_null());
    json_put(object, "held_out_step",
             comparison->held_out ? json_integer((json_int_t)comparison->held_out_step)
                                  : json_null());
    json_put(object, "settings", json_incref(settings));
    return object;
}

static struct table *table_of_runs(const struct comparison *comparison, const char *title)
{
    struct table *table = table_new(title);
    for (size_t run = 0; run < comparison->count; run++)
        table_column(table, comparison->views[run].name, TABLE_RIGHT);
    return table;
}

static struct table *values_table(const struct comparison *comparison, const char *title,
                                  uint64_t step)
{
    struct table *table = table_of_runs(comparison, title);
    for (size_t i = 0; i < comparison->metrics.count; i++) {
        const char *name = comparison->metrics.items[i];
        table_cell(table, STYLE_NONE, "%s", name);
        for (size_t run = 0; run < comparison->count; run++) {
            char number[RUNS_NUMBER_BYTES], deviation[RUNS_NUMBER_BYTES];
            struct run_mean mean = run_series_mean(&comparison->views[run].series, name, step,
                                                   comparison->over);
            runs_number(mean.value, number);
            runs_number(mean.deviation, deviation);
            table_cell(table, STYLE_NONE, "%s%s%s", number, isnan(mean.deviation) ? "" : " ±",
                       isnan(mean.deviation) ? "" : deviation);
        }
    }
    return table;
}

static struct table *settings_table(const struct comparison *comparison, json_t *settings)
{
    struct table *table = table_of_runs(comparison, "settings that differ");
    const char *path;
    json_t *values, *value;
    size_t i;
    json_object_foreach(settings, path, values)
    {
        table_cell(table, STYLE_NONE, "%s", path);
        json_array_foreach(values, i, value)
            table_cell(table, STYLE_NONE, "%s",
                       json_is_string(value) ? json_string_value(value) : "-");
    }
    return table;
}

/* Whether a run has steps after the compared one. */
static bool goes_on(const struct comparison *comparison)
{
    bool any = false;
    for (size_t i = 0; i < comparison->count; i++) {
        const struct run_series *series = &comparison->views[i].series;
        any |= series->steps[series->count - 1] > comparison->step;
    }
    return any;
}

static void put_tables(struct cli_call *call, const struct comparison *comparison, json_t *settings)
{
    char title[128], means[64] = "";
    struct buf *out = &call->out;
    if (comparison->held_out) {
        runs_held_out_table(comparison->held_out, comparison->held_out_step,
                            style_wanted(STDOUT_FILENO), out);
        buf_puts(out, "\n");
    }
    if (comparison->over > 1)
        snprintf(means, sizeof means, ", mean ± deviation of up to %zu steps", comparison->over);
    snprintf(title, sizeof title, "at step %" PRIu64 "%.60s", comparison->step, means);
    cli_put_table(call, values_table(comparison, title, comparison->step));
    if (goes_on(comparison)) {
        snprintf(title, sizeof title, "at the end%.60s", means);
        buf_puts(out, "\n");
        cli_put_table(call, values_table(comparison, title, UINT64_MAX));
    }
    if (json_object_size(settings) > 0) {
        buf_puts(out, "\n");
        cli_put_table(call, settings_table(comparison, settings));
    }
}

static int compare_runs(struct cli_call *call, void *context, struct err *err)
{
    struct comparison *comparison = context;
    json_t *settings = NULL;
    int result = 0;
    comparison->over = (size_t)comparison->asked_over;
    for (size_t i = 0; i < call->words.count && result == 0; i++) {
        result = runs_open(&comparison->views[i], call->words.items[i], RUN_SERIES_ALL, err);
        comparison->count += result == 0;
    }
    if (result == 0)
        result = check_metrics(comparison, err);
    if (result == 0)
        result = choose_step(comparison, err);
    if (result == 0)
        result = settings_differences(comparison, &settings, err);
    if (result == 0)
        result = runs_held_out(comparison->views, comparison->count, comparison->step,
                               &comparison->held_out, &comparison->held_out_step, err);
    if (result == 0) {
        if (comparison->all)
            add_all_metrics(comparison);
        else if (comparison->metrics.count == 0)
            add_standard_metrics(comparison);
        if (comparison->json)
            cli_put_json(call, comparison_json(comparison, settings));
        else
            put_tables(call, comparison, settings);
    }
    json_decref(settings);
    for (size_t i = 0; i < comparison->count; i++)
        run_view_close(&comparison->views[i]);
    report_close(comparison->held_out);
    return result;
}

int runs_compare_main(struct cli_call *call)
{
    struct comparison *comparison = mem_alloc(sizeof *comparison);
    comparison->asked = -1;
    comparison->asked_over = OVER;
    const struct cli_option options[] = {
        OPTION_LIST('m', "metric", &comparison->metrics, "NAME",
                    "this metric; may be repeated. Default: those of `runs watch`"),
        OPTION_FLAG(0, "all", &comparison->all, "every metric"),
        OPTION_INT(0, "step", &comparison->asked, 0, INT64_MAX / 1024, "N",
                   "the step to compare; default: the last common one"),
        OPTION_INT(0, "over", &comparison->asked_over, 1, INT64_MAX / 1024, "N",
                   "mean and standard deviation of the last N steps up to there; 10"),
        OPTION_FLAG(0, "json", &comparison->json, "one JSON object"),
        OPTION_END,
    };
    int status = cli_run(call, options, compare_runs, comparison);
    mem_free(comparison);
    return status;
}
