/* events: changes as server-sent events: of one evaluation, of a batch, of everything. */
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/api/batches.h"

#include <stdio.h>

#include <uthash.h>

struct sent { /* a member whose end was sent */
    int64_t sequence;
    UT_hash_handle hh;
};

struct events {
    struct job_listener listener; /* first */
    struct service *service;
    struct http_stream *stream;
    char id[QUEUE_ID_BYTES]; /* of evaluation or batch; "": everything */
    bool begun;
    struct queue_job last; /* of an evaluation, as last sent */
    struct sent *sent;     /* of a batch */
    size_t members;        /* their number, as far as known */
};

static void send_text(struct events *events, const char *name, const char *text, const char *id)
{
    const struct http_event event = {.id = id, .name = name, .data = text};
    /* a closed connection is reported by its callback */
    (void)http_stream_send(events->stream, &event);
}

static void send_view(struct events *events, const char *name, const struct evaluation_json *view,
                      bool verdict)
{
    struct buf text;
    buf_init(&text, 4 * LIMIT_QUEUE_BODY_BYTES);
    evaluation_json_write(view, verdict, NULL, &text);
    send_text(events, name, text.data, NULL);
    buf_deinit(&text);
}

static void send_json(struct events *events, const char *name, json_t *value, const char *id)
{
    (void)http_stream_send_json(events->stream, name, id, value);
    json_decref(value);
}

static enum job_listener_state update_evaluation(struct job_listener *listener,
                                                 const struct queue_event *event)
{
    struct events *events = (struct events *)listener;
    struct evaluation_json *view;
    struct err err;
    int result = evaluation_json_get(events->service->evaluation_jsons, events->service->queue,
                                     events->id, &view, &err);
    if (result < 0)
        return result == ERR_MISSING ? JOB_LISTENER_DONE : JOB_LISTENER_RETRY;
    const struct queue_job *job = &view->job, *last = &events->last;
    bool ended = evaluation_has_ended(job);
    if (!events->begun || job->state != last->state || job->claims != last->claims ||
        job->attempt != last->attempt || job->cancel_requested != last->cancel_requested)
        send_view(events, "state", view, false);
    if (ended)
        send_view(events, "verdict", view, true);
    events->last = *job;
    events->begun = true;
    evaluation_json_unref(view);
    return ended ? JOB_LISTENER_DONE : JOB_LISTENER_KEEP;
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static int send_member(struct events *events, const struct queue_job *row, struct err *err)
{
    struct sent *sent;
    struct evaluation_json *view;
    HASH_FIND(hh, events->sent, &row->sequence, sizeof row->sequence, sent);
    if (sent || !evaluation_has_ended(row))
        return 0;
    int result = evaluation_json_of(events->service->evaluation_jsons, events->service->queue, row,
                                    &view, err);
    if (result < 0)
        return result == ERR_MISSING ? 0 : result;
    sent = mem_alloc(sizeof *sent);
    sent->sequence = row->sequence;
    HASH_ADD(hh, events->sent, sequence, sizeof sent->sequence, sent);
    send_view(events, "evaluation", view, false);
    evaluation_json_unref(view);
    return 0;
}

struct send_context {
    struct events *events;
    struct batch_counts counts;
    struct err err;
    int result;
};

static void send_each(void *context, const struct queue_job *job)
{
    struct send_context *send_context = context;
    batch_counts_add(&send_context->counts, job);
    if (send_context->result == 0)
        send_context->result = send_member(send_context->events, job, &send_context->err);
}

/* Sends all members, and the end if all have ended. */
static enum job_listener_state send_members(struct events *events)
{
    struct send_context send_context = {.events = events};
    int result = batch_each(events->service, events->id, send_each, &send_context,
                            &send_context.err);
    if (result < 0)
        return result == ERR_MISSING ? JOB_LISTENER_DONE : JOB_LISTENER_RETRY;
    if (send_context.result < 0)
        return JOB_LISTENER_RETRY;
    events->members = send_context.counts.count;
    if (!batch_counts_ended(&send_context.counts))
        return JOB_LISTENER_KEEP;
    send_json(events, "batch", batch_counts_json(events->id, &send_context.counts), NULL);
    return JOB_LISTENER_DONE;
}

/* A member's end costs one row; all rows are read only if it may have been the last. */
static enum job_listener_state update_batch(struct job_listener *listener,
                                            const struct queue_event *event)
{
    struct events *events = (struct events *)listener;
    struct queue_job row;
    struct err err;
    if (!event)
        return send_members(events);
    if (event->state != QUEUE_DONE && event->state != QUEUE_CANCELLED)
        return JOB_LISTENER_KEEP;
    int result = queue_get(events->service->queue, event->id, QUEUE_NO_BODIES, &row, &err);
    if (result == 0)
        result = send_member(events, &row, &err);
    if (result < 0 && result != ERR_MISSING)
        return JOB_LISTENER_RETRY;
    return HASH_COUNT(events->sent) >= events->members ? send_members(events) : JOB_LISTENER_KEEP;
}

static enum job_listener_state update_all(struct job_listener *listener,
                                          const struct queue_event *event)
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
    return JOB_LISTENER_KEEP;
}

static void events_release(struct job_listener *listener)
{
    http_stream_close(((struct events *)listener)->stream);
}

static void events_cancelled(void *context)
{
    struct events *events = context;
    job_events_cancel(events->service->job_events, &events->listener);
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void events_free(void *context)
{
    struct events *events = context;
    struct sent *sent, *next;
    HASH_ITER (hh, events->sent, sent, next) {
        HASH_DEL(events->sent, sent);
        mem_free(sent);
    }
    mem_free(events);
}

static void events_begin(struct service *service, struct http_request *request, const char *id,
                         enum job_listener_state (*update)(struct job_listener *,
                                                           const struct queue_event *),
                         enum job_events_of what)
{
    struct events *events = mem_alloc(sizeof *events);
    events->service = service;
    events->listener.update = update;
    events->listener.release = events_release;
    snprintf(events->id, sizeof events->id, "%s", id);
    job_events_key(events->listener.key, what, events->id);
    const struct http_stream_options options = {.gone = events_cancelled,
                                                .release = events_free,
                                                .context = events};
    events->stream = http_stream_open(request, &options);
    job_events_add(service->job_events, &events->listener);
}

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
        events_begin(service, request, job.id, update_evaluation, JOB_EVENTS_OF_JOB);
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
        http_refuse(response, 404, "not_found", "no batch '%.255s'", id);
    else
        events_begin(service, request, job.batch, update_batch, JOB_EVENTS_OF_BATCH);
}

static void follow_all(void *context, struct http_request *request, struct http_response *response)
{
    events_begin(context, request, "", update_all, JOB_EVENTS_OF_ALL);
}

const struct http_route api_events_routes[] = {
    {HTTP_GET, "/v1/evaluations/:id/events", follow_evaluation, HTTP_BLOCKS, 0, NULL},
    {HTTP_GET, "/v1/batches/:id/events", follow_batch, HTTP_BLOCKS, 0, NULL},
    {HTTP_GET, "/v1/events", follow_all, 0, 0, NULL},
    {0},
};
