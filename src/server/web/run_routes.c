/* run_routes: the runs, one run, and its metrics as few points. */
#include "base/array.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/web/internal.h"
#include "server/web/reduce.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define POINTS_STANDARD 200

/* What a list shows of each run, if it has them. */
static const char *const brief_metrics[] = {
    "reward/mean",
    "kernel/correct_rate",
    "kernel/mean_speedup",
    "eval/correct_rate",
    "eval/fast_1",
    "optim/loss",
    "sft/loss",
    "loss",
    "evaluation_loss",
    "mismatch/mismatch_kl",
    "lag/max",
    "time/total",
    "kernel/cheat_rate",
    "reward_parts/coverage",
};

json_t *web_number(double value)
{
    bool whole = value == floor(value) && fabs(value) < 9e15;
    return whole ? json_integer((json_int_t)value) : json_number(value);
}

json_t *web_run_json(const struct run_view *view, const char *name)
{
    static const char *const kinds[] = {[RUN_NONE] = "none", [RUN_RL] = "rl", [RUN_SFT] = "sft"};
    json_t *object = json_object(), *last = json_object();
    for (size_t i = 0; i < COUNT(brief_metrics); i++) {
        double value = run_series_at(&view->series, brief_metrics[i], UINT64_MAX, NULL);
        if (isfinite(value))
            json_put(last, brief_metrics[i], web_number(value));
    }
    json_put(object, "name", json_text(name));
    json_put(object, "kind", json_text(kinds[view->kind]));
    json_put(object, "state", json_text(run_state_names[view->state]));
    json_put(object, "step", json_integer((json_int_t)view->step));
    json_put(object, "steps", view->steps ? json_integer((json_int_t)view->steps) : json_null());
    json_put(object, "phase", json_text(view->phase));
    json_put(object, "done", json_integer((json_int_t)view->done));
    json_put(object, "all", json_integer((json_int_t)view->all));
    json_put(object, "changed_at", json_time(view->changed_ms));
    json_put(object, "last", last);
    return object;
}

/* A run whose metrics cannot be read is listed with the reason. */
static json_t *list_one(struct web_run *run)
{
    struct err err;
    if (web_run_brief(run, &err) < 0) {
        json_t *object = json_object();
        json_put(object, "name", json_text(run->name));
        json_put(object, "error", json_text(err.text));
        return object;
    }
    json_t *object = web_run_json(&run->brief, run->name);
    web_run_close(run);
    return object;
}

static void runs_get(void *context, struct http_request *request, struct http_response *response)
{
    struct web *web = context;
    struct err err;
    size_t count, found;
    struct web_run **runs = mem_alloc(LIMIT_WEB_RUNS * sizeof(struct web_run *));
    if (run_set_list(web->runs, runs, &count, &found, &err) < 0) {
        http_refuse_err(response, &err);
    } else {
        json_t *answer = json_object(), *list = json_array();
        for (size_t i = 0; i < count; i++)
            json_array_append_new(list, list_one(runs[i]));
        json_put(answer, "folder", json_text(web->folder));
        json_put(answer, "runs", list);
        json_put(answer, "left_out", json_integer((json_int_t)(found > count ? found - count : 0)));
        http_set_json(response, answer);
    }
    mem_free(runs);
}

struct web_run *web_request_run(struct web *web, const struct http_request *request,
                                struct http_response *response)
{
    struct web_run *run;
    struct err err;
    int result = run_set_find(web->runs, http_parameter(request, "name"), &run, &err);
    if (result == 0)
        result = web_run_open(web->runs, run, &err);
    if (result == 0)
        return run;
    http_refuse_err(response, &err);
    return NULL;
}

static json_t *metric_names(const struct run_series *series)
{
    json_t *names = json_array();
    for (size_t i = 0; i < series->column_count; i++)
        json_array_append_new(names, json_text(series->columns[i].name));
    return names;
}

static void run_get(void *context, struct http_request *request, struct http_response *response)
{
    struct web_run *run = web_request_run(context, request, response);
    json_t *settings = NULL, *checkpoints = NULL;
    struct err err;
    if (!run)
        return;
    int result = run_view_settings(&run->whole, &settings, &err);
    if (result == 0)
        result = run_view_checkpoints(&run->whole, &checkpoints, &err);
    if (result < 0) {
        json_decref(settings);
        http_refuse_err(response, &err);
    } else {
        json_t *answer = web_run_json(&run->whole, run->name);
        const struct run_series *series = &run->whole.series;
        json_put(answer, "path", json_text(run->path));
        json_put(answer, "rows", json_integer((json_int_t)series->count));
        json_put(answer, "metrics", metric_names(series));
        json_put(answer, "settings", settings);
        json_put(answer, "checkpoints", checkpoints);
        http_set_json(response, answer);
    }
    web_run_close(run);
}

/* --- metrics ---------------------------------------------------------------------------------- */

struct metrics_query {
    int64_t points, from, to;
    const char *names; /* separated by commas */
};

static bool read_metrics_query(const struct http_request *request, struct metrics_query *query,
                               struct http_response *response)
{
    *query = (struct metrics_query){POINTS_STANDARD, 0, INT64_MAX, http_query(request, "names")};
    if (!http_query_int(request, "points", 1, LIMIT_WEB_POINTS, &query->points, response) ||
        !http_query_int(request, "from", 0, INT64_MAX, &query->from, response) ||
        !http_query_int(request, "to", 0, INT64_MAX, &query->to, response))
        return false;
    size_t count = 1;
    for (const char *at = query->names; at && *at; at++)
        count += *at == ',';
    if (query->names && *query->names && count <= LIMIT_WEB_METRICS)
        return true;
    http_refuse(response, 400, "input",
                "the query's 'names' must have 1 to %d names of metrics, separated by commas",
                LIMIT_WEB_METRICS);
    return false;
}

/* Arrays beside each other, which is half of the bytes of an object for each bucket. */
static json_t *buckets_json(const struct reduce_bucket *buckets, size_t count)
{
    json_t *first = json_array(), *last = json_array(), *number = json_array();
    json_t *least = json_array(), *mean = json_array(), *greatest = json_array();
    json_t *deviation = json_array(), *object = json_object();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(first, json_integer((json_int_t)buckets[i].first));
        json_array_append_new(last, json_integer((json_int_t)buckets[i].last));
        json_array_append_new(number, json_integer((json_int_t)buckets[i].count));
        json_array_append_new(least, web_number(buckets[i].least));
        json_array_append_new(mean, web_number(buckets[i].mean));
        json_array_append_new(greatest, web_number(buckets[i].greatest));
        json_array_append_new(deviation, web_number(buckets[i].deviation));
    }
    json_put(object, "first", first);
    json_put(object, "last", last);
    json_put(object, "count", number);
    json_put(object, "least", least);
    json_put(object, "mean", mean);
    json_put(object, "greatest", greatest);
    json_put(object, "deviation", deviation);
    return object;
}

static size_t row_of(const struct run_series *series, uint64_t step)
{
    size_t low = 0, high = series->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (series->steps[middle] < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static json_t *metrics_json(const struct run_series *series, const struct metrics_query *query)
{
    json_t *metrics = json_object();
    struct reduce_bucket *buckets = mem_alloc((size_t)query->points * sizeof *buckets);
    size_t first = row_of(series, (uint64_t)query->from);
    size_t end = query->to == INT64_MAX ? series->count : row_of(series, (uint64_t)query->to + 1);
    char *names = mem_strdup(query->names), *rest = names;
    for (char *name; (name = strsep(&rest, ","));) {
        const struct run_column *column = run_series_find(series, name);
        if (!column || end <= first)
            continue;
        size_t count = reduce_series(series->steps + first, column->values + first, end - first,
                                     buckets, (size_t)query->points);
        json_put(metrics, name, buckets_json(buckets, count));
    }
    mem_free(names);
    mem_free(buckets);
    return metrics;
}

static void metrics_get(void *context, struct http_request *request, struct http_response *response)
{
    struct metrics_query query;
    if (!read_metrics_query(request, &query, response))
        return;
    struct web_run *run = web_request_run(context, request, response);
    if (!run)
        return;
    json_t *answer = web_run_json(&run->whole, run->name);
    json_put(answer, "metrics", metrics_json(&run->whole.series, &query));
    web_run_close(run);
    http_set_json(response, answer);
}

const struct http_route web_run_routes[] = {
    {HTTP_GET, "/v1/runs", runs_get, HTTP_BLOCKS, 0, HTTP_NO_QUERY},
    {HTTP_GET, "/v1/runs/:name", run_get, HTTP_BLOCKS, 0, HTTP_NO_QUERY},
    {HTTP_GET, "/v1/runs/:name/metrics", metrics_get, HTTP_BLOCKS, 0,
     HTTP_QUERY("names", "points", "from", "to")},
    {HTTP_GET, "/v1/runs/:name/events", web_follow_run, HTTP_BLOCKS, 0, HTTP_NO_QUERY},
    {0},
};
