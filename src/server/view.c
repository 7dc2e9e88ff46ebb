#include "server/view.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "judge/request/request.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#define VIEW_MOST_BYTES (LIMIT_VIEWS_BYTES / 16) /* a larger one is not remembered */

struct remembered {
    char id[QUEUE_ID_BYTES];
    struct view *view;
    UT_hash_handle hh; /* in the order of their last use */
};

struct views {
    pthread_mutex_t lock; /* all below */
    struct remembered *all;
    size_t bytes;
};

/* --------------------------------------------------------------------------------------- making */

const char *view_priority(enum queue_priority priority)
{
    static const char *const names[] = {
#define X(symbol, name) name,
        EVALUATION_PRIORITIES(X)
#undef X
    };
    return (unsigned)priority < QUEUE_PRIORITIES ? names[priority] : names[QUEUE_NORMAL];
}

bool view_ended(const struct queue_job *job)
{
    return job->state == QUEUE_DONE || job->state == QUEUE_CANCELLED;
}

static json_t *text_or_null(const char *text)
{
    return *text ? json_text(text) : json_null();
}

/* What the wall clock says, which may have been set in between. */
static json_t *span(int64_t from_ms, int64_t to_ms)
{
    if (from_ms == 0 || to_ms == 0)
        return json_null();
    return json_integer(to_ms > from_ms ? to_ms - from_ms : 0);
}

static json_t *head_json(const struct queue_job *job)
{
    json_t *object = json_object(), *timing = json_object();
    json_put(object, "id", json_text(job->id));
    json_put(object, "batch", text_or_null(job->batch));
    json_put(object, "state", json_text(queue_state_name(job->state)));
    json_put(object, "priority", json_text(view_priority(job->priority)));
    json_put(object, "created_at", json_time(job->put_ms));
    json_put(object, "started_at", json_time(job->claimed_ms));
    json_put(object, "ended_at", json_time(job->ended_ms));
    json_put(object, "attempt", json_integer(job->attempt));
    json_put(object, "worker", text_or_null(job->worker));
    json_put(object, "outcome", text_or_null(job->outcome));
    json_put(object, "reason", text_or_null(job->reason));
    json_put(timing, "waited", span(job->put_ms, job->claimed_ms));
    json_put(timing, "judged", span(job->claimed_ms, job->ended_ms));
    json_put(object, "timing_ms", timing);
    return object;
}

/* Its JSON on one line if it is an object, else NULL. */
static char *object_text(const json_t *value)
{
    struct buf text;
    if (!json_is_object(value))
        return NULL;
    buf_init(&text, LIMIT_QUEUE_BODY_BYTES + 1);
    if (json_line_write(value, &text, NULL) < 0) {
        buf_deinit(&text);
        return NULL;
    }
    text.data[text.len - 1] = '\0';
    return buf_take(&text);
}

static json_t *parse(const char *bytes, size_t count)
{
    struct err err;
    json_t *value = NULL;
    if (!bytes || json_parse("job", bytes, count, &value, &err) < 0)
        return NULL;
    return value;
}

/* The result is written anew rather than copied: then what we send is JSON, whoever wrote it. */
static struct view *make(struct queue_job *job)
{
    struct view *view = mem_alloc(sizeof *view);
    json_t *payload = parse(job->payload, job->payload_bytes);
    json_t *result = parse(job->result, job->result_bytes);
    json_t *head = head_json(job);
    if (json_is_object(result)) /* of another job, where its verdict answered this one, too */
        json_put(result, "id", json_text(job->id));
    view->notes = object_text(json_object_get(payload, "notes"));
    view->verdict = object_text(result);
    char *text = object_text(head);
    text[strlen(text) - 1] = '\0';
    view->head = mem_printf("%s,\"notes\":%s", text, view->notes ? view->notes : "null");
    mem_free(text);
    json_decref(head);
    json_decref(payload);
    json_decref(result);
    view->job = *job;
    view->job.payload = view->job.result = NULL;
    view->bytes = sizeof(struct remembered) + sizeof *view + strlen(view->head) +
                  (view->notes ? strlen(view->notes) : 0) +
                  (view->verdict ? strlen(view->verdict) : 0);
    atomic_init(&view->refs, 1);
    return view;
}

void view_unref(struct view *view)
{
    if (!view || atomic_fetch_sub(&view->refs, 1) != 1)
        return;
    mem_free(view->head);
    mem_free(view->notes);
    mem_free(view->verdict);
    mem_free(view);
}

/* ---------------------------------------------------------------------------------- remembering */

struct views *views_new(void)
{
    struct views *views = mem_alloc(sizeof *views);
    pthread_mutex_init(&views->lock, NULL);
    return views;
}

/* With the lock held. */
static void forget(struct views *views, struct remembered *one)
{
    HASH_DEL(views->all, one); /* NOLINT(clang-analyzer-core.NullDereference): it is in there */
    views->bytes -= one->view->bytes;
    view_unref(one->view);
    mem_free(one);
}

void views_free(struct views *views)
{
    if (!views)
        return;
    while (views->all)
        forget(views, views->all);
    pthread_mutex_destroy(&views->lock);
    mem_free(views);
}

/* A job's row is what changes; its bodies change with sequence, claims or state alone. */
static bool same(const struct queue_job *a, const struct queue_job *b)
{
    return a->sequence == b->sequence && a->claims == b->claims && a->state == b->state &&
           a->attempt == b->attempt && a->ended_ms == b->ended_ms && a->put_ms == b->put_ms &&
           a->result_bytes == b->result_bytes;
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static struct view *recall(struct views *views, const struct queue_job *row)
{
    struct remembered *one;
    struct view *view = NULL;
    pthread_mutex_lock(&views->lock);
    HASH_FIND_STR(views->all, row->id, one);
    if (one && !same(&one->view->job, row)) {
        forget(views, one);
    } else if (one) {
        view = one->view;
        atomic_fetch_add(&view->refs, 1);
        HASH_DEL(views->all, one); /* to the end of the order */
        HASH_ADD_STR(views->all, id, one);
    }
    pthread_mutex_unlock(&views->lock);
    return view;
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void remember(struct views *views, struct view *view)
{
    struct remembered *one;
    if (view->bytes > VIEW_MOST_BYTES)
        return;
    pthread_mutex_lock(&views->lock);
    HASH_FIND_STR(views->all, view->job.id, one);
    if (one)
        forget(views, one);
    one = mem_alloc(sizeof *one);
    snprintf(one->id, sizeof one->id, "%s", view->job.id);
    one->view = view;
    atomic_fetch_add(&view->refs, 1);
    views->bytes += view->bytes;
    HASH_ADD_STR(views->all, id, one);
    while (views->bytes > LIMIT_VIEWS_BYTES)
        forget(views, views->all);
    pthread_mutex_unlock(&views->lock);
}

int views_of(struct views *views, struct queue *queue, const struct queue_job *row,
             struct view **out, struct err *err)
{
    struct queue_job job;
    *out = recall(views, row);
    if (*out)
        return 0;
    int result = queue_get(queue, row->id, QUEUE_PAYLOAD | QUEUE_RESULT, &job, err);
    if (result < 0)
        return result;
    *out = make(&job);
    queue_job_deinit(&job);
    remember(views, *out);
    return 0;
}

int views_get(struct views *views, struct queue *queue, const char *id, struct view **out,
              struct err *err)
{
    struct queue_job row;
    int result = queue_get(queue, id, QUEUE_NO_BODIES, &row, err);
    return result < 0 ? result : views_of(views, queue, &row, out, err);
}

void view_write(const struct view *view, bool verdict, const char *putting, struct buf *out)
{
    buf_puts(out, view->head);
    if (verdict) {
        buf_puts(out, ",\"verdict\":");
        buf_puts(out, view->verdict ? view->verdict : "null");
    }
    if (putting)
        buf_printf(out, ",\"putting\":\"%s\"", putting);
    buf_puts(out, "}");
}
