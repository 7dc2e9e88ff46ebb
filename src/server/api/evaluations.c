/* evaluations: one evaluation: put, show, wait, cancel; and lists of them. */
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/long_poll.h"
#include "server/submit.h"

#include <stdio.h>
#include <string.h>

#define LIST_STANDARD 100

struct show {
    char id[QUEUE_ID_BYTES];
    const char *submission; /* NULL: leave it out */
    bool verdict;
    int status;     /* for an evaluation that has not ended */
    int64_t put_ns; /* when the put was durable; 0: not put by this request */
    double put_ms;  /* from the request until then */
};

/* Server-Timing: the put, which is durable, and the wait; stages_ms details the latter. */
static void set_timing(const struct show *show, struct http_response *response)
{
    char text[96];
    snprintf(text, sizeof text, "put;dur=%.3f, wait;dur=%.3f", show->put_ms,
             clock_ms_since(show->put_ns));
    http_set_header(response, "Server-Timing", text);
}

static void set_view(const struct evaluation_json *view, const struct show *show,
                     struct http_response *response)
{
    struct buf text;
    buf_init(&text, 4 * LIMIT_QUEUE_BODY_BYTES);
    evaluation_json_write(view, show->verdict, show->submission, &text);
    buf_puts(&text, "\n");
    http_set_status(response, evaluation_has_ended(&view->job) ? 200 : show->status);
    size_t count = text.len;
    http_set_taken(response, "application/json", buf_take(&text), count);
    if (show->put_ns != 0)
        set_timing(show, response);
}

/* True: it has ended, or there is nothing to wait for. */
static bool answer_evaluation(struct service *service, const struct show *show,
                              struct http_response *response)
{
    struct evaluation_json *view;
    struct err err;
    if (evaluation_json_get(service->evaluation_jsons, service->queue, show->id, &view, &err) < 0) {
        service_refuse_queue(response, &err);
        return true;
    }
    bool ended = evaluation_has_ended(&view->job);
    set_view(view, show, response);
    evaluation_json_unref(view);
    return ended;
}

static void answer_waiter(struct service *service, void *context, bool ended,
                          struct http_response *response)
{
    (void)answer_evaluation(service, context, response);
}

/* Answers at once if it has ended or no wait is requested. */
static void answer_or_wait(struct service *service, const struct show *show, int64_t wait_ms,
                           struct http_request *request, struct http_response *response)
{
    if (wait_ms == 0) {
        (void)answer_evaluation(service, show, response);
        return;
    }
    struct show *kept = mem_alloc(sizeof *kept);
    *kept = *show;
    const struct long_poll waiting = {.ids = (const char(*)[QUEUE_ID_BYTES]) & kept->id,
                                      .count = 1,
                                      .timeout_ms = wait_ms,
                                      .answer = answer_waiter,
                                      .release = mem_free,
                                      .context = kept};
    long_poll_begin(service, request, &waiting);
}

static void evaluations_post(void *context, struct http_request *request,
                             struct http_response *response)
{
    struct service *service = context;
    const struct submit_options options = {.path_ids = true};
    struct submitted submitted;
    int64_t wait_ms;
    if (!service_wait_ms(request, 0, response, &wait_ms))
        return;
    const json_t *body = http_json(request, response);
    if (!body)
        return;
    json_t *requests = json_pack("[O]", body);
    if (submit_all(service, requests, &options, &submitted, response)) {
        struct show show = {.submission = submitted.results[0],
                            .verdict = true,
                            .status = 202,
                            .put_ns = clock_now_ns(),
                            .put_ms = clock_ms_since(http_started_ns(request))};
        snprintf(show.id, sizeof show.id, "%s", submitted.ids[0]);
        answer_or_wait(service, &show, wait_ms, request, response);
        submitted_deinit(&submitted);
    }
    json_decref(requests);
}

static void evaluations_get(void *context, struct http_request *request,
                            struct http_response *response)
{
    struct service *service = context;
    struct show show = {.verdict = true, .status = 200};
    int64_t wait_ms;
    if (!service_wait_ms(request, 0, response, &wait_ms) ||
        !http_query_bool(request, "verdict", &show.verdict, response))
        return;
    const char *id = http_parameter(request, "id");
    if (strlen(id) >= sizeof show.id) {
        http_refuse(response, 404, "not_found", "no evaluation has that id");
        return;
    }
    snprintf(show.id, sizeof show.id, "%s", id);
    answer_or_wait(service, &show, wait_ms, request, response);
}

static void evaluations_cancel(void *context, struct http_request *request,
                               struct http_response *response)
{
    struct service *service = context;
    enum queue_state state;
    struct err err;
    const char *id = http_parameter(request, "id");
    if (service_cancel(service, id, &state, &err) < 0) {
        service_refuse_queue(response, &err);
        return;
    }
    if (state == QUEUE_DONE) {
        http_refuse(response, 409, "ended", "evaluation '%.255s' has ended already", id);
        return;
    }
    json_t *answered = json_object();
    json_put(answered, "id", json_text(id));
    json_put(answered, "state", json_text(queue_state_name(state)));
    http_set_status(response, 202);
    http_set_json(response, answered);
}

struct list {
    struct queue_filter filter;
    int64_t limit;
    bool verdict;
};

static bool read_list(const struct http_request *request, struct list *list,
                      struct http_response *response)
{
    const char *state = http_query(request, "state");
    *list = (struct list){.limit = LIST_STANDARD};
    list->filter.state = QUEUE_ANY_STATE;
    list->filter.batch = http_query(request, "batch");
    if (!http_query_int(request, "before", 1, INT64_MAX, &list->filter.before, response) ||
        !http_query_int(request, "limit", 1, LIMIT_QUEUE_LIST_JOBS, &list->limit, response) ||
        !http_query_bool(request, "verdict", &list->verdict, response))
        return false;
    for (int i = 0; state && i < QUEUE_STATES; i++)
        if (strcmp(state, queue_state_name((enum queue_state)i)) == 0)
            list->filter.state = i;
    if (!state || list->filter.state != QUEUE_ANY_STATE)
        return true;
    http_refuse(response, 400, "bad_query",
                "state must be one of queued, running, done, cancelled");
    return false;
}

/* Appends what fits into a page. Returns the number of jobs done; fewer than `count`: the page
 * is full. Skips jobs removed in the meantime. */
static int write_page(struct service *service, const struct list *list,
                      const struct queue_job *jobs, size_t count, struct buf *out, size_t *done,
                      struct err *err)
{
    size_t written = 0;
    for (*done = 0; *done < count; ++*done) {
        struct evaluation_json *view;
        int result = evaluation_json_of(service->evaluation_jsons, service->queue, &jobs[*done],
                                        &view, err);
        if (result == ERR_MISSING)
            continue;
        if (result < 0)
            return result;
        bool fits = written == 0 || out->len + view->bytes < LIMIT_PAGE_BYTES;
        if (fits) {
            buf_puts(out, written++ ? "," : "");
            evaluation_json_write(view, list->verdict, NULL, out);
        }
        evaluation_json_unref(view);
        if (!fits)
            break;
    }
    return 0;
}

static void evaluations_list(void *context, struct http_request *request,
                             struct http_response *response)
{
    struct service *service = context;
    struct list asked;
    struct err err;
    struct buf text;
    size_t count = 0, done = 0;
    if (!read_list(request, &asked, response))
        return;
    struct queue_job *jobs = mem_alloc((size_t)asked.limit * sizeof *jobs);
    buf_init(&text, LIMIT_PAGE_BYTES + 4 * LIMIT_QUEUE_BODY_BYTES);
    buf_puts(&text, "{\"evaluations\":[");
    int result = queue_list(service->queue, &asked.filter, jobs, (size_t)asked.limit, &count, &err);
    if (result == 0)
        result = write_page(service, &asked, jobs, count, &text, &done, &err);
    if (result < 0) {
        service_refuse_queue(response, &err);
        buf_deinit(&text);
    } else {
        bool more = done > 0 && (done < count || count == (size_t)asked.limit);
        if (more)
            buf_printf(&text, "],\"before\":%lld}\n", (long long)jobs[done - 1].sequence);
        else
            buf_puts(&text, "],\"before\":null}\n");
        size_t bytes = text.len;
        http_set_taken(response, "application/json", buf_take(&text), bytes);
    }
    mem_free(jobs);
}

const struct http_route api_evaluations_routes[] = {
    {HTTP_POST, "/v1/evaluations", evaluations_post, HTTP_BLOCKS, HTTP_BODY_STANDARD,
     HTTP_QUERY("wait_s")},
    {HTTP_GET, "/v1/evaluations", evaluations_list, HTTP_BLOCKS, 0,
     HTTP_QUERY("state", "batch", "before", "limit", "verdict")},
    {HTTP_GET, "/v1/evaluations/:id", evaluations_get, HTTP_BLOCKS, 0,
     HTTP_QUERY("wait_s", "verdict")},
    {HTTP_DELETE, "/v1/evaluations/:id", evaluations_cancel, HTTP_BLOCKS, 0, NULL},
    {0},
};
