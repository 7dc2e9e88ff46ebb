/* runs list, runs show: lists runs, and shows one of them. */
#include "cli/runs/runs.h"

#include "base/array.h"
#include "base/file.h"
#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define TAIL_BYTES ((size_t)256 << 10) /* of the metrics: the last few */

static const enum style state_styles[RUN_STATE_COUNT] = {
    [RUN_STATE_STOPPED] = STYLE_NONE,
    [RUN_STATE_RUNNING] = STYLE_GOOD,
    [RUN_STATE_FINISHED] = STYLE_FAINT,
};

static json_t *view_json(const struct run_view *view)
{
    json_t *object = json_object();
    json_put(object, "run", json_text(view->path));
    json_put(object, "kind", json_text(view->kind == RUN_RL ? "train" : "lm train"));
    json_put(object, "state", json_text(run_state_names[view->state]));
    json_put(object, "pid", view->holder > 0 ? json_integer(view->holder) : json_null());
    json_put(object, "step", json_integer((json_int_t)view->step));
    json_put(object, "steps", json_integer((json_int_t)view->steps));
    json_put(object, "phase", json_text(view->phase));
    json_put(object, "changed", json_time(view->changed_ms));
    return object;
}

/* The last value of each metric. */
static json_t *last_json(const struct run_series *series)
{
    json_t *object = json_object();
    for (size_t i = 0; i < series->column_count; i++)
        json_put(object, series->columns[i].name,
                 json_number(run_series_at(series, series->columns[i].name, UINT64_MAX, NULL)));
    return object;
}

static void last_text(const struct run_view *view, const char *label, char text[RUNS_NUMBER_BYTES])
{
    const char *name = NULL;
    for (size_t i = 0; i < runs_measure_count; i++)
        if (strcmp(runs_measures[i].label, label) == 0)
            name = runs_measure_name(&runs_measures[i], &view->series);
    runs_number(name ? run_series_at(&view->series, name, UINT64_MAX, NULL) : NAN, text);
}

struct listing {
    bool json, disk;
};

static void add_row(struct table *table, const struct run_view *view, bool disk)
{
    static const char *const labels[] = {"reward", "pass rate", "held out", "loss"};
    char text[64], number[RUNS_NUMBER_BYTES];
    table_cell(table, STYLE_NONE, "%s", view->path);
    table_cell(table, state_styles[view->state], "%s", run_state_names[view->state]);
    runs_step_text(view, text, sizeof text);
    table_cell(table, STYLE_NONE, "%s", text + strlen("step "));
    for (size_t i = 0; i < COUNT(labels); i++) {
        last_text(view, labels[i], number);
        table_cell(table, STYLE_NONE, "%s", number);
    }
    runs_age_text(view, text, sizeof text);
    table_cell(table, STYLE_NONE, "%s", text);
    if (disk) {
        runs_size(file_tree_bytes(view->path), number);
        table_cell(table, STYLE_NONE, "%s", number);
    }
}

/* Reports an unreadable run, and shows the others. */
static int list_one(struct cli_call *call, struct table *table, const char *path, bool disk)
{
    struct run_view view;
    struct err err;
    if (runs_open(&view, path, TAIL_BYTES, &err) < 0)
        return cli_fail_err(&err);
    if (table) {
        add_row(table, &view, disk);
    } else {
        json_t *object = view_json(&view);
        json_put(object, "last", last_json(&view.series));
        if (disk)
            json_put(object, "disk_bytes", json_integer((json_int_t)file_tree_bytes(view.path)));
        cli_put_json(call, object);
    }
    run_view_close(&view);
    return EXIT_PASSED;
}

static int list_all(struct cli_call *call, const struct cli_words *paths,
                    const struct listing *listing)
{
    static const char titles[] = "run|state|>step|>reward|>pass rate|>held out|>loss|>age";
    struct table *table = listing->json ? NULL : table_new(titles);
    int status = EXIT_PASSED;
    if (table && listing->disk)
        table_column(table, "disk", TABLE_RIGHT);
    for (size_t i = 0; i < paths->count; i++) {
        int one = list_one(call, table, paths->items[i], listing->disk);
        status = one != EXIT_PASSED ? one : status;
    }
    if (table)
        cli_put_table(call, table);
    return status;
}

static int runs_list_run(struct cli_call *call, void *arguments, struct err *err)
{
    const struct cli_words *directories = &call->words;
    const struct listing *listing = arguments;
    struct cli_words paths = {0};
    struct arena arena = {0};
    int result = 0;
    for (size_t i = 0; i < directories->count && result == 0; i++)
        result = runs_find_all(directories->items[i], &arena, &paths, err);
    if (directories->count == 0)
        result = runs_find_all(RUNS_HOME, &arena, &paths, err);
    /* ./runs is the default: it need not exist. */
    if (result == ERR_MISSING && directories->count == 0)
        result = 0;
    if (result == 0 && paths.count == 0 && !listing->json)
        cli_fail(EXIT_PASSED, "no runs in %s", directories->count ? "there" : "./" RUNS_HOME);
    else if (result == 0)
        result = list_all(call, &paths, listing);
    cli_words_deinit(&paths);
    arena_deinit(&arena);
    return result;
}

int runs_list_main(struct cli_call *call)
{
    struct listing listing = {false, false};
    const struct cli_option options[] = {
        OPTION_FLAG(0, "disk", &listing.disk, "what each takes of the disk, too"),
        OPTION_FLAG(0, "json", &listing.json, "one run a line instead of the table"),
        OPTION_END,
    };
    return cli_run(call, options, runs_list_run, &listing);
}

static void put_head(const struct run_view *view, struct buf *out)
{
    char step[64], age[32];
    runs_step_text(view, step, sizeof step);
    runs_age_text(view, age, sizeof age);
    buf_printf(out, "%s: %s", view->path, run_state_names[view->state]);
    if (view->holder > 0)
        buf_printf(out, " (process %d)", (int)view->holder);
    buf_printf(out, ", %s", step);
    if (view->state == RUN_STATE_RUNNING && view->phase[0])
        buf_printf(out, ", %s", view->phase);
    buf_printf(out, "; last wrote %s ago\n", age);
}

/* "KEY  value" rows under a heading; nothing without rows. */
static void put_pairs(struct cli_call *call, const char *heading, json_t *object)
{
    const char *key;
    json_t *value;
    if (json_object_size(object) == 0)
        return;
    struct table *table = table_new(heading);
    table_column(table, "", TABLE_LEFT);
    json_object_foreach(object, key, value)
    {
        char number[RUNS_NUMBER_BYTES];
        runs_number(json_is_number(value) ? json_number_value(value) : NAN, number);
        table_cell(table, STYLE_NONE, "  %s", key);
        table_cell(table, STYLE_NONE, "%s",
                   json_is_string(value) ? json_string_value(value) : number);
    }
    buf_puts(&call->out, "\n");
    cli_put_table(call, table);
}

static void put_checkpoints(struct cli_call *call, const struct run_view *view, json_t *checkpoints)
{
    bool lowest;
    const char *measure = runs_best_measure(view, &lowest);
    const json_t *best = runs_best(view, checkpoints, measure, lowest), *checkpoint;
    size_t i;
    if (json_array_size(checkpoints) == 0)
        return;
    struct table *table = table_new("Checkpoints|>step|where|");
    json_array_foreach(checkpoints, i, checkpoint)
    {
        table_cell(table, STYLE_NONE, "  %s", json_text_at(checkpoint, "name"));
        table_cell(table, STYLE_NONE, "%" JSON_INTEGER_FORMAT,
                   json_integer_value(json_object_get(checkpoint, "step")));
        table_cell(table, STYLE_NONE, "%s", json_text_at(checkpoint, "where"));
        table_cell(table, STYLE_GOOD, "%s%s", checkpoint == best ? "best " : "",
                   checkpoint == best ? measure : "");
    }
    buf_puts(&call->out, "\n");
    cli_put_table(call, table);
}

static int show_run(struct cli_call *call, struct run_view *view, void *arguments, struct err *err)
{
    const bool *json = arguments;
    json_t *settings = NULL, *checkpoints = NULL, *last = last_json(&view->series);
    int result = run_view_settings(view, &settings, err);
    if (result == 0)
        result = run_view_checkpoints(view, &checkpoints, err);
    if (result == 0 && *json) {
        json_t *object = view_json(view);
        json_put(object, "settings", json_incref(settings));
        json_put(object, "last", json_incref(last));
        json_put(object, "checkpoints", json_incref(checkpoints));
        cli_put_json(call, object);
    } else if (result == 0) {
        put_head(view, &call->out);
        put_pairs(call, view->kind == RUN_RL ? "Settings that are not the default" : "Settings",
                  settings);
        put_pairs(call, "Last metrics", last);
        put_checkpoints(call, view, checkpoints);
    }
    json_decref(settings);
    json_decref(checkpoints);
    json_decref(last);
    return result;
}

static int runs_show_run(struct cli_call *call, void *arguments, struct err *err)
{
    return runs_do(call, RUN_SERIES_ALL, show_run, arguments, err);
}

int runs_show_main(struct cli_call *call)
{
    bool json = false;
    const struct cli_option options[] = {
        OPTION_FLAG(0, "json", &json, "one JSON object"),
        OPTION_END,
    };
    return cli_run(call, options, runs_show_run, &json);
}
