/* api_evaluations: one evaluation: put, look, wait, cancel; and lists of them. */
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/submit.h"
#include "server/waiting.h"

#include <stdio.h>
#include <string.h>

#define LIST_STANDARD 100

/* -------------------------------------------------------------------------------------- answers */

struct show {
    char id[QUEUE_ID_BYTES];
    const char *putting; /* NULL: leave it out */
    bool verdict;
    int status;     /* of one that has not ended */
    int64_t put_ns; /* when it was safe in the queue; 0: it was not put now */
    double put_ms;  /* from the request until then */
};

/* Where the time went: what is durable, and what is waited for; stages_ms splits the latter. */
static void set_timing(const struct show *show, struct http_response *response)
{
    char text[96];
    snprintf(text, sizeof text, "put;dur=%.3f, wait;dur=%.3f", show->put_ms,
             clock_ms_since(show->put_ns));
    http_set_header(response, "Server-Timing", text);
}

static void set_view(const struct view *view, const struct show *show,
                     struct http_response *response)
{
    struct buf text;
    buf_init(&text, 4 * LIMIT_QUEUE_BODY_BYTES);
    view_write(view, show->verdict, show->putting, &text);
    buf_puts(&text, "\n");
    http_set_status(response, view_ended(&view->job) ? 200 : show->status);
    size_t count = text.len;
    http_set_taken(response, "application/json", buf_take(&text), count);
    if (show->put_ns != 0)
        set_timing(show, response);
}

/* True: it has ended, or there is nothing to wait for. */
static bool answer(struct service *service, const struct show *show, struct http_response *response)
{
    struct view *view;
    struct err err;
    if (views_get(service->views, service->queue, show->id, &view, &err) < 0) {
        service_refuse_queue(response, &err);
        return true;
    }
    bool ended = view_ended(&view->job);
    set_view(view, show, response);
    view_unref(view);
    return ended;
}

static void answer_waiter(struct service *service, void *context, bool ended,
                          struct http_response *response)
{
    (void)ended;
    (void)answer(service, context, response);
}

/* Answers at once where it has ended, or nobody wants to wait. */
static void answer_or_wait(struct service *service, const struct show *show, int64_t wait_ms,
                           struct http_request *request, struct http_response *response)
{
    if (wait_ms == 0) {
        (void)answer(service, show, response);
        return;
    }
    struct show *kept = mem_alloc(sizeof *kept);
    *kept = *show;
    const struct waiting waiting = {.ids = (const char *const[]){kept->id},
                                    .count = 1,
                                    .timeout_ms = wait_ms,
                                    .answer = answer_waiter,
                                    .release = mem_free,
                                    .context = kept};
    waiting_begin(service, request, &waiting);
}

/* --------------------------------------------------------------------------------------- routes */

static void post(void *context, struct http_request *request, struct http_response *response)
{
    static const char *const names[] = {"wait_s", NULL};
    struct service *service = context;
    struct submission submission;
    struct queue_submission put;
    int64_t wait_ms;
    if (!http_query_known(request, names, response) ||
        !service_wait_ms(request, response, &wait_ms))
        return;
    const json_t *body = http_json(request, response);
    if (!body)
        return;
    if (!submit_check_id(body, NULL, response))
        return;
    if (submit_prepare(service, body, NULL, &submission, response) &&
        submit_put(service, &submission, 1, NULL, &put, response)) {
        struct show show = {.putting = submit_putting(&submission, &put),
                            .verdict = true,
                            .status = 202,
                            .put_ns = clock_now_ns(),
                            .put_ms = clock_ms_since(http_started_ns(request))};
        snprintf(show.id, sizeof show.id, "%s", put.put_id);
        answer_or_wait(service, &show, wait_ms, request, response);
    }
    submit_deinit(&submission);
}

static void get(void *context, struct http_request *request, struct http_response *response)
{
    static const char *const names[] = {"wait_s", "verdict", NULL};
    struct service *service = context;
    struct show show = {.verdict = true, .status = 200};
    int64_t wait_ms;
    if (!http_query_known(request, names, response) ||
        !service_wait_ms(request, response, &wait_ms) ||
        !http_query_bool(request, "verdict", &show.verdict, response))
        return;
    const char *id = http_parameter(request, "id");
    if (strlen(id) >= sizeof show.id) {
        http_refuse(response, 404, "not_found", "there is no evaluation of that id");
        return;
    }
    snprintf(show.id, sizeof show.id, "%s", id);
    answer_or_wait(service, &show, wait_ms, request, response);
}

static void cancel(void *context, struct http_request *request, struct http_response *response)
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

/* ---------------------------------------------------------------------------------------- lists */

struct list {
    struct queue_filter filter;
    int64_t limit;
    bool verdict;
};

static bool read_list(const struct http_request *request, struct list *list,
                      struct http_response *response)
{
    static const char *const names[] = {"state", "batch", "before", "limit", "verdict", NULL};
    const char *state = http_query(request, "state");
    *list = (struct list){.limit = LIST_STANDARD};
    list->filter.state = QUEUE_ANY_STATE;
    list->filter.batch = http_query(request, "batch");
    if (!http_query_known(request, names, response) ||
        !http_query_int(request, "before", 1, INT64_MAX, &list->filter.before, response) ||
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

/* Appends what fits into a page. Says how many jobs it is done with; fewer than `count`: the page
 * is full. One that was removed in between is left out. */
static int write_page(struct service *service, const struct list *list,
                      const struct queue_job *jobs, size_t count, struct buf *out, size_t *done,
                      struct err *err)
{
    size_t written = 0;
    for (*done = 0; *done < count; ++*done) {
        struct view *view;
        int result = views_of(service->views, service->queue, &jobs[*done], &view, err);
        if (result == ERR_MISSING)
            continue;
        if (result < 0)
            return result;
        bool fits = written == 0 || out->len + view->bytes < LIMIT_PAGE_BYTES;
        if (fits) {
            buf_puts(out, written++ ? "," : "");
            view_write(view, list->verdict, NULL, out);
        }
        view_unref(view);
        if (!fits)
            break;
    }
    return 0;
}

static void list(void *context, struct http_request *request, struct http_response *response)
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
    {HTTP_POST, "/v1/evaluations", post, HTTP_BLOCKS, HTTP_BODY_STANDARD},
    {HTTP_GET, "/v1/evaluations", list, HTTP_BLOCKS, 0},
    {HTTP_GET, "/v1/evaluations/:id", get, HTTP_BLOCKS, 0},
    {HTTP_DELETE, "/v1/evaluations/:id", cancel, HTTP_BLOCKS, 0},
    {0},
};
