/* api_events: changes as server-sent events: of one evaluation, of a batch, of everything. */
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/batch.h"

#include <stdio.h>
#include <string.h>

#include <uthash.h>

struct sent { /* a member whose end was told */
    int64_t sequence;
    UT_hash_handle hh;
};

struct events {
    struct feed_listener listener; /* first */
    struct service *service;
    struct http_stream *stream;
    char id[QUEUE_ID_BYTES]; /* of evaluation or batch; "": everything */
    bool begun;
    struct queue_job last; /* of an evaluation, as it was told */
    struct sent *sent;     /* of a batch */
    size_t members;        /* of it, as far as we know */
};

static void send_text(struct events *events, const char *name, const char *text, const char *id)
{
    const struct http_event event = {.id = id, .name = name, .data = text};
    (void)http_stream_send(events->stream, &event); /* who is gone is told so by `gone` */
}

static void send_view(struct events *events, const char *name, const struct view *view,
                      bool verdict)
{
    struct buf text;
    buf_init(&text, 4 * LIMIT_QUEUE_BODY_BYTES);
    view_write(view, verdict, NULL, &text);
    send_text(events, name, text.data, NULL);
    buf_deinit(&text);
}

static void send_json(struct events *events, const char *name, json_t *value, const char *id)
{
    struct buf text;
    buf_init(&text, LIMIT_QUEUE_BODY_BYTES);
    if (json_line_write(value, &text, NULL) == 0) {
        text.data[text.len - 1] = '\0';
        send_text(events, name, text.data, id);
    }
    buf_deinit(&text);
    json_decref(value);
}

/* ---------------------------------------------------------------------------------------- looks */

static enum feed_look look_evaluation(struct feed_listener *listener,
                                      const struct queue_event *event)
{
    struct events *events = (struct events *)listener;
    struct view *view;
    struct err err;
    (void)event;
    int result = views_get(events->service->views, events->service->queue, events->id, &view, &err);
    if (result < 0)
        return result == ERR_MISSING ? FEED_OVER : FEED_AGAIN;
    const struct queue_job *job = &view->job, *last = &events->last;
    bool ended = view_ended(job);
    if (!events->begun || job->state != last->state || job->claims != last->claims ||
        job->attempt != last->attempt || job->cancel_requested != last->cancel_requested)
        send_view(events, "state", view, false);
    if (ended)
        send_view(events, "verdict", view, true);
    events->last = *job;
    events->begun = true;
    view_unref(view);
    return ended ? FEED_OVER : FEED_WAIT;
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static int tell_member(struct events *events, const struct queue_job *row, struct err *err)
{
    struct sent *sent;
    struct view *view;
    HASH_FIND(hh, events->sent, &row->sequence, sizeof row->sequence, sent);
    if (sent || !view_ended(row))
        return 0;
    int result = views_of(events->service->views, events->service->queue, row, &view, err);
    if (result < 0)
        return result == ERR_MISSING ? 0 : result;
    sent = mem_alloc(sizeof *sent);
    sent->sequence = row->sequence;
    HASH_ADD(hh, events->sent, sequence, sizeof sent->sequence, sent);
    send_view(events, "evaluation", view, false);
    view_unref(view);
    return 0;
}

struct telling {
    struct events *events;
    struct batch_counts counts;
    struct err err;
    int result;
};

static void tell_each(void *context, const struct queue_job *job)
{
    struct telling *telling = context;
    batch_counts_add(&telling->counts, job);
    if (telling->result == 0)
        telling->result = tell_member(telling->events, job, &telling->err);
}

/* All members, and whether that was the end. */
static enum feed_look look_at_members(struct events *events)
{
    struct telling telling = {.events = events};
    int result = batch_each(events->service, events->id, tell_each, &telling, &telling.err);
    if (result < 0)
        return result == ERR_MISSING ? FEED_OVER : FEED_AGAIN;
    if (telling.result < 0)
        return FEED_AGAIN;
    events->members = telling.counts.count;
    if (!batch_counts_ended(&telling.counts))
        return FEED_WAIT;
    send_json(events, "batch", batch_counts_json(events->id, &telling.counts), NULL);
    return FEED_OVER;
}

/* One end is one row to read; all rows are read only where that may have been the last. */
static enum feed_look look_batch(struct feed_listener *listener, const struct queue_event *event)
{
    struct events *events = (struct events *)listener;
    struct queue_job row;
    struct err err;
    if (!event)
        return look_at_members(events);
    if (event->state != QUEUE_DONE && event->state != QUEUE_CANCELLED)
        return FEED_WAIT;
    int result = queue_get(events->service->queue, event->id, QUEUE_NO_BODIES, &row, &err);
    if (result == 0)
        result = tell_member(events, &row, &err);
    if (result < 0 && result != ERR_MISSING)
        return FEED_AGAIN;
    return HASH_COUNT(events->sent) >= events->members ? look_at_members(events) : FEED_WAIT;
}

static enum feed_look look_all(struct feed_listener *listener, const struct queue_event *event)
{
    struct events *events = (struct events *)listener;
    if (event) {
        char number[24];
        json_t *value = json_object();
        snprintf(number, sizeof number, "%lld", (long long)event->number);
        json_put(value, "id", json_text(event->id));
        json_put(value, "batch", event->batch[0] ? json_text(event->batch) : json_null());
        json_put(value, "state", json_text(queue_state_name(event->state)));
        json_put(value, "outcome", event->outcome[0] ? json_text(event->outcome) : json_null());
        send_json(events, "state", value, number);
    } else if (events->begun) {
        send_text(events, "missed", "{}", NULL);
    }
    events->begun = true;
    return FEED_WAIT;
}

/* ----------------------------------------------------------------------------------------- life */

static void drop(struct feed_listener *listener)
{
    http_stream_close(((struct events *)listener)->stream);
}

static void gone(void *context)
{
    struct events *events = context;
    feed_cancel(events->service->feed, &events->listener);
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void release(void *context)
{
    struct events *events = context;
    struct sent *sent, *next;
    HASH_ITER (hh, events->sent, sent, next) {
        HASH_DEL(events->sent, sent);
        mem_free(sent);
    }
    mem_free(events);
}

static void begin(struct service *service, struct http_request *request, const char *id,
                  enum feed_look (*look)(struct feed_listener *, const struct queue_event *),
                  void (*key)(char out[FEED_KEY_BYTES], const char *id))
{
    struct events *events = mem_alloc(sizeof *events);
    events->service = service;
    events->listener.look = look;
    events->listener.drop = drop;
    snprintf(events->id, sizeof events->id, "%s", id);
    key(events->listener.key, events->id);
    const struct http_stream_options options = {.gone = gone,
                                                .release = release,
                                                .context = events};
    events->stream = http_stream_open(request, &options);
    feed_add(service->feed, &events->listener);
}

/* --------------------------------------------------------------------------------------- routes */

static void follow_evaluation(void *context, struct http_request *request,
                              struct http_response *response)
{
    struct service *service = context;
    struct queue_job job;
    struct err err;
    const char *id = http_parameter(request, "id");
    if (queue_get(service->queue, id, QUEUE_NO_BODIES, &job, &err) < 0)
        service_refuse_queue(response, &err);
    else
        begin(service, request, job.id, look_evaluation, feed_key_job);
}

static void follow_batch(void *context, struct http_request *request,
                         struct http_response *response)
{
    struct service *service = context;
    const char *id = http_parameter(request, "id");
    struct queue_filter filter = {.state = QUEUE_ANY_STATE, .batch = id};
    struct queue_job job;
    size_t count = 0;
    struct err err;
    if (queue_list(service->queue, &filter, &job, 1, &count, &err) < 0)
        service_refuse_queue(response, &err);
    else if (count == 0)
        http_refuse(response, 404, "not_found", "there is no batch '%.255s'", id);
    else
        begin(service, request, job.batch, look_batch, feed_key_batch);
}

static void key_all(char key[FEED_KEY_BYTES], const char *id)
{
    (void)id;
    feed_key_all(key);
}

static void follow_all(void *context, struct http_request *request, struct http_response *response)
{
    (void)response;
    begin(context, request, "", look_all, key_all);
}

const struct http_route api_events_routes[] = {
    {HTTP_GET, "/v1/evaluations/:id/events", follow_evaluation, HTTP_BLOCKS, 0},
    {HTTP_GET, "/v1/batches/:id/events", follow_batch, HTTP_BLOCKS, 0},
    {HTTP_GET, "/v1/events", follow_all, 0, 0},
    {0},
};
