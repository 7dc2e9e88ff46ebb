/* trace_routes: the trajectories of a run: a grid of problems and steps, pages of a list, and one
 * of them turn by turn. */
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "gym/answer/parse.h"
#include "gym/report/metrics.h"
#include "server/web/grid.h"
#include "server/web/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROWS_STANDARD 100
#define COLUMNS_STANDARD 60

/* The run with its index as far as one request may read it; NULL: refused. */
static struct web_run *request_traces(struct web *web, const struct http_request *request,
                                      struct http_response *response)
{
    struct web_run *run = web_request_run(web, request, response);
    struct err err;
    if (run && trace_index_read(&run->traces, LIMIT_WEB_INDEX_BYTES, &err) < 0) {
        web_run_close(run);
        http_refuse_err(response, &err);
        return NULL;
    }
    return run;
}

/* How far the index is. */
static json_t *index_json(const struct trace_index *index)
{
    json_t *object = json_object();
    json_put(object, "read_bytes", json_integer((json_int_t)index->read_bytes));
    json_put(object, "file_bytes", json_integer((json_int_t)index->file_bytes));
    json_put(object, "turns", json_integer(index->row_count));
    json_put(object, "trajectories", json_integer(index->trajectory_count));
    json_put(object, "broken", json_integer((json_int_t)index->broken));
    json_put(object, "left_out", json_integer((json_int_t)index->left_out));
    json_put(object, "generation", json_integer((json_int_t)index->generation));
    return object;
}

static json_t *trajectory_json(const struct trace_index *index, uint32_t number)
{
    const struct trace_trajectory *one = &index->trajectories[number];
    const struct trace_row *best = &index->rows[one->best];
    json_t *object = json_object();
    json_put(object, "number", json_integer(number));
    json_put(object, "step", json_integer((json_int_t)one->step));
    json_put(object, "rollout", json_integer(one->rollout));
    json_put(object, "problem", json_text(trace_index_problem(index, number)));
    json_put(object, "turns", json_integer(one->turns));
    json_put(object, "status", json_text(gym_status_name(best->status)));
    json_put(object, "reward", web_number(best->reward));
    json_put(object, "speedup", best->speedup > 0 ? json_number(best->speedup) : json_null());
    return object;
}

/* --- a list ----------------------------------------------------------------------------------- */

struct traces_query {
    struct trace_filter filter;
    int64_t from, limit;
    char *text; /* as it is within a JSON string; NULL: none */
};

/* The text with JSON's escapes, as the trainer writes it, without quotes. */
static char *escaped_text(const char *text)
{
    json_t *value = json_text(text);
    char *quoted = json_dumps(value, JSON_ENCODE_ANY);
    char *inner = mem_printf("%.*s", (int)strlen(quoted) - 2, quoted + 1);
    json_decref(value);
    mem_free(quoted);
    return inner;
}

static bool read_traces_query(const struct http_request *request, struct traces_query *query,
                              struct http_response *response)
{
    const char *status = http_query(request, "status"), *text = http_query(request, "text");
    *query = (struct traces_query){.filter = {.step = -1,
                                              .problem = http_query(request, "problem"),
                                              .status = -1},
                                   .limit = ROWS_STANDARD};
    if (!http_query_int(request, "step", 0, INT64_MAX, &query->filter.step, response) ||
        !http_query_int(request, "from", 0, UINT32_MAX, &query->from, response) ||
        !http_query_int(request, "limit", 1, LIMIT_WEB_ROWS, &query->limit, response))
        return false;
    if (status && *status) {
        query->filter.status = gym_status_of(status);
        if (query->filter.status == GYM_UNKNOWN) {
            http_refuse(response, 400, "input",
                        "the query's 'status' must be one of a verdict, or no_code");
            return false;
        }
    }
    query->text = text && *text ? escaped_text(text) : NULL;
    return true;
}

/* Whether a turn's line has the text; *left is what may still be read. */
static bool row_contains(int fd, const struct trace_row *row, const char *text, char **bytes,
                         uint64_t *left)
{
    *left -= row->bytes < *left ? row->bytes : *left;
    *bytes = mem_resize(*bytes, (size_t)row->bytes + 1);
    return pread(fd, *bytes, row->bytes, (off_t)row->at) == (ssize_t)row->bytes &&
           memmem(*bytes, row->bytes, text, strlen(text)) != NULL;
}

static bool trajectory_contains(const struct trace_index *index, int fd, uint32_t number,
                                const char *text, char **bytes, uint64_t *left)
{
    uint32_t row = index->trajectories[number].first;
    while (row != TRACE_NONE && !row_contains(fd, &index->rows[row], text, bytes, left))
        row = index->rows[row].next;
    return row != TRACE_NONE;
}

/* Searches the matches of the filter from number `from` of them. *next: where to go on; the number
 * of matches if all were searched. */
static int search_traces(const struct trace_index *index, const struct traces_query *query,
                         json_t *rows, uint64_t *matched, uint64_t *next, struct err *err)
{
    uint64_t left = LIMIT_WEB_SEARCH_BYTES;
    char *bytes = NULL;
    int fd = open(index->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && index->row_count > 0)
        return err_sys(err, errno, "cannot read %s", index->path);
    uint32_t *numbers = mem_alloc((index->trajectory_count + (size_t)1) * sizeof *numbers);
    size_t count = trace_index_select(index, &query->filter, 0, index->trajectory_count, numbers,
                                      matched);
    *next = (uint64_t)query->from;
    while (*next < count && left > 0 && json_array_size(rows) < (size_t)query->limit) {
        uint32_t number = numbers[(*next)++];
        if (trajectory_contains(index, fd, number, query->text, &bytes, &left))
            json_array_append_new(rows, trajectory_json(index, number));
    }
    mem_free(numbers);
    mem_free(bytes);
    if (fd >= 0)
        close(fd);
    return 0;
}

static void list_traces(const struct trace_index *index, const struct traces_query *query,
                        json_t *rows, uint64_t *matched, uint64_t *next)
{
    uint32_t numbers[LIMIT_WEB_ROWS];
    size_t count = trace_index_select(index, &query->filter, (uint64_t)query->from,
                                      (size_t)query->limit, numbers, matched);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(rows, trajectory_json(index, numbers[i]));
    *next = (uint64_t)query->from + count;
}

static void traces_get(void *context, struct http_request *request, struct http_response *response)
{
    struct traces_query query;
    struct err err;
    uint64_t matched = 0, next = 0;
    int result = 0;
    if (!read_traces_query(request, &query, response))
        return;
    struct web_run *run = request_traces(context, request, response);
    json_t *rows = json_array();
    if (run && query.text)
        result = search_traces(&run->traces, &query, rows, &matched, &next, &err);
    else if (run)
        list_traces(&run->traces, &query, rows, &matched, &next);
    if (run && result == 0) {
        json_t *answer = json_object();
        json_put(answer, "index", index_json(&run->traces));
        json_put(answer, "matched", json_integer((json_int_t)matched));
        json_put(answer, "next", next < matched ? json_integer((json_int_t)next) : json_null());
        json_put(answer, "rows", json_incref(rows));
        http_set_json(response, answer);
    } else if (run) {
        http_refuse_err(response, &err);
    }
    if (run)
        web_run_close(run);
    json_decref(rows);
    mem_free(query.text);
}

/* --- one trajectory --------------------------------------------------------------------------- */

/* What an answer consists of, by the rules by which candidates are taken out of answers. */
static json_t *parts_json(const json_t *turn)
{
    const json_t *candidate = json_object_get(json_object_get(turn, "verdict"), "candidate");
    const char *language = json_text_at(candidate, "language");
    const char *answer = json_text_at(turn, "answer");
    const struct parse_options options = {.language = *language ? language : "c"};
    struct parsed parsed;
    parse_answer(answer, strlen(answer), &options, &parsed);
    json_t *object = json_object();
    json_put(object, "thought", json_text(parsed.thought));
    json_put(object, "code", json_text(parsed.code));
    parse_deinit(&parsed);
    return object;
}

/* The line as it is, without its tokens, and with the parts of its answer. */
static json_t *read_turn(const struct trace_index *index, int fd, const struct trace_row *row)
{
    static const char *const tokens[] = {"prompt_ids", "answer_ids", "logprobs",
                                         "trained_logprobs"};
    char *bytes = mem_alloc((size_t)row->bytes + 1);
    json_t *turn = NULL;
    struct err err = {0};
    if (pread(fd, bytes, row->bytes, (off_t)row->at) != (ssize_t)row->bytes)
        err_set(&err, ERR_IO, "the file has changed; look again");
    else if (json_parse("the line", bytes, row->bytes, &turn, &err) == 0) {
        for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
            json_object_del(turn, tokens[i]);
        json_put(turn, "parts", parts_json(turn));
    }
    if (!turn) {
        turn = json_object();
        json_put(turn, "turn", json_integer(row->turn));
        json_put(turn, "error", json_text(err.text));
    }
    mem_free(bytes);
    return turn;
}

static json_t *turns_json(const struct trace_index *index, uint32_t number, int fd)
{
    json_t *turns = json_array();
    uint64_t left = LIMIT_WEB_TRAJECTORY_BYTES;
    for (uint32_t row = index->trajectories[number].first; row != TRACE_NONE;
         row = index->rows[row].next) {
        const struct trace_row *one = &index->rows[row];
        if (one->bytes > left) {
            json_t *note = json_object();
            json_put(note, "turn", json_integer(one->turn));
            json_put(note, "error",
                     json_text("the page is full: this turn is in traces.jsonl only"));
            json_array_append_new(turns, note);
            continue;
        }
        left -= one->bytes;
        json_array_append_new(turns, read_turn(index, fd, one));
    }
    return turns;
}

static bool read_place(const struct http_request *request, uint64_t *step, uint32_t *rollout)
{
    const char *texts[] = {http_parameter(request, "step"), http_parameter(request, "rollout")};
    uint64_t values[2];
    for (size_t i = 0; i < 2; i++) {
        char *end;
        errno = 0;
        values[i] = strtoull(texts[i], &end, 10);
        if (*texts[i] < '0' || *texts[i] > '9' || *end || errno)
            return false;
    }
    *step = values[0];
    *rollout = (uint32_t)values[1];
    return values[1] < UINT32_MAX;
}

static void trajectory_get(void *context, struct http_request *request,
                           struct http_response *response)
{
    uint64_t step;
    uint32_t rollout;
    if (!read_place(request, &step, &rollout)) {
        http_refuse(response, 400, "input", "step and rollout must be whole numbers");
        return;
    }
    struct web_run *run = request_traces(context, request, response);
    if (!run)
        return;
    uint32_t number = trace_index_find(&run->traces, step, rollout);
    int fd = number == TRACE_NONE ? -1 : open(run->traces.path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        http_refuse(response, 404, "missing", "%s has no rollout %u of step %llu", run->name,
                    rollout, (unsigned long long)step);
    } else {
        json_t *answer = trajectory_json(&run->traces, number);
        json_put(answer, "turns", turns_json(&run->traces, number, fd));
        json_put(answer, "count", json_integer(run->traces.trajectory_count));
        http_set_json(response, answer);
        close(fd);
    }
    web_run_close(run);
}

/* --- the grid --------------------------------------------------------------------------------- */

static void grid_get(void *context, struct http_request *request, struct http_response *response)
{
    int64_t columns = COLUMNS_STANDARD;
    if (!http_query_int(request, "columns", 1, LIMIT_WEB_GRID_COLUMNS, &columns, response))
        return;
    struct web_run *run = request_traces(context, request, response);
    if (!run)
        return;
    json_t *answer = grid_json(&run->traces, (size_t)columns);
    json_put(answer, "index", index_json(&run->traces));
    web_run_close(run);
    http_set_json(response, answer);
}

const struct http_route web_trace_routes[] = {
    {HTTP_GET, "/v1/runs/:name/grid", grid_get, HTTP_BLOCKS, 0, HTTP_QUERY("columns")},
    {HTTP_GET, "/v1/runs/:name/traces", traces_get, HTTP_BLOCKS, 0,
     HTTP_QUERY("step", "problem", "status", "text", "from", "limit")},
    {HTTP_GET, "/v1/runs/:name/traces/:step/:rollout", trajectory_get, HTTP_BLOCKS, 0,
     HTTP_NO_QUERY},
    {0},
};
