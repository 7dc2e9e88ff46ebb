#include "server/evaluation_json.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "judge/request/request.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#define CACHE_ENTRY_MAX_BYTES (LIMIT_VIEWS_BYTES / 16) /* a larger view is not cached */

struct cache_entry {
    char id[QUEUE_ID_BYTES];
    struct evaluation_json *evaluation;
    UT_hash_handle hh; /* in the order of their last use */
};

struct evaluation_json_cache {
    pthread_mutex_t lock; /* all below */
    struct cache_entry *all;
    size_t bytes;
};

const char *evaluation_priority_name(enum queue_priority priority)
{
    static const char *const names[] = {
#define X(symbol, name) name,
        EVALUATION_PRIORITIES(X)
#undef X
    };
    return (unsigned)priority < QUEUE_PRIORITIES ? names[priority] : names[QUEUE_NORMAL];
}

bool evaluation_has_ended(const struct queue_job *job)
{
    return job->state == QUEUE_DONE || job->state == QUEUE_CANCELLED;
}

static json_t *text_or_null(const char *text)
{
    return *text ? json_text(text) : json_null();
}

/* A difference of wall-clock times, between which the clock may have been set. */
static json_t *duration_json(int64_t from_ms, int64_t to_ms)
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
    json_put(object, "priority", json_text(evaluation_priority_name(job->priority)));
    json_put(object, "created_at", json_time(job->put_ms));
    json_put(object, "started_at", json_time(job->claimed_ms));
    json_put(object, "ended_at", json_time(job->ended_ms));
    json_put(object, "attempt", json_integer(job->attempt));
    json_put(object, "worker", text_or_null(job->worker));
    json_put(object, "outcome", text_or_null(job->outcome));
    json_put(object, "reason", text_or_null(job->reason));
    json_put(timing, "waited", duration_json(job->put_ms, job->claimed_ms));
    json_put(timing, "judged", duration_json(job->claimed_ms, job->ended_ms));
    json_put(object, "timing_ms", timing);
    return object;
}

/* Waiting for the machine's slots and for the device, in the worker, is waiting, too: the verdict
 * has all of it. */
static void count_waiting(json_t *head, const json_t *result, const char *id)
{
    json_t *timing = json_object_get(head, "timing_ms");
    const json_t *waited = json_object_get(timing, "waited");
    const json_t *judged = json_object_get(timing, "judged");
    const json_t *queue = json_object_get(json_object_get(result, "stages_ms"), "queue");
    if (!json_is_integer(waited) || !json_is_integer(judged) || !json_is_number(queue) ||
        strcmp(json_text_at(result, "id"), id) != 0) /* another job's verdict */
        return;
    const json_int_t whole = json_integer_value(waited) + json_integer_value(judged);
    const double all = fmin(json_number_value(queue), (double)whole);
    if (all <= (double)json_integer_value(waited))
        return;
    json_put(timing, "waited", json_integer((json_int_t)all));
    json_put(timing, "judged", json_integer(whole - (json_int_t)all));
}

/* Its JSON on one line if it is an object, else NULL. */
static char *object_text(const json_t *value)
{
    return json_is_object(value) ? json_line_text(value, LIMIT_QUEUE_BODY_BYTES, NULL) : NULL;
}

static json_t *parse_json(const char *bytes, size_t count)
{
    struct err err;
    json_t *value = NULL;
    if (!bytes || json_parse("job", bytes, count, &value, &err) < 0)
        return NULL;
    return value;
}

void evaluation_verdict(const struct queue_job *job, struct verdict *verdict)
{
    json_t *result = parse_json(job->result, job->result_bytes);
    bool cancelled = job->state == QUEUE_CANCELLED;
    verdict_recover(&(struct verdict_source){.id = job->id,
                                             .outcome = cancelled ? STATUS_CANCELLED : STATUS_COUNT,
                                             .reason = job->reason,
                                             .json = result},
                    verdict);
    json_decref(result);
}

/* The result is parsed and written again rather than copied, so that the answer is valid JSON in
 * any case. */
static struct evaluation_json *evaluation_json_make(struct queue_job *job)
{
    struct evaluation_json *evaluation = mem_alloc(sizeof *evaluation);
    json_t *payload = parse_json(job->payload, job->payload_bytes);
    json_t *result = parse_json(job->result, job->result_bytes);
    json_t *head = head_json(job);
    count_waiting(head, result, job->id);
    if (json_is_object(result)) /* it was found under another job's id */
        json_put(result, "id", json_text(job->id));
    json_t *notes = json_object_get(payload, "notes");
    evaluation->notes = object_text(notes);
    evaluation->verdict = object_text(result);
    json_put(head, "notes", json_is_object(notes) ? json_incref(notes) : json_null());
    struct buf text;
    buf_init(&text, 2 * LIMIT_QUEUE_BODY_BYTES);
    if (json_line_write(head, &text, NULL) == 0)
        text.data[text.len - 2] = '\0';
    evaluation->head = buf_take(&text);
    json_decref(head);
    json_decref(payload);
    json_decref(result);
    evaluation->job = *job;
    evaluation->job.payload = evaluation->job.result = NULL;
    evaluation->bytes = sizeof(struct cache_entry) + sizeof *evaluation + strlen(evaluation->head) +
                        (evaluation->notes ? strlen(evaluation->notes) : 0) +
                        (evaluation->verdict ? strlen(evaluation->verdict) : 0);
    atomic_init(&evaluation->refs, 1);
    return evaluation;
}

void evaluation_json_unref(struct evaluation_json *evaluation)
{
    if (!evaluation || atomic_fetch_sub(&evaluation->refs, 1) != 1)
        return;
    mem_free(evaluation->head);
    mem_free(evaluation->notes);
    mem_free(evaluation->verdict);
    mem_free(evaluation);
}

struct evaluation_json_cache *evaluation_json_cache_new(void)
{
    struct evaluation_json_cache *cache = mem_alloc(sizeof *cache);
    pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

/* With the lock held. */
static void cache_remove(struct evaluation_json_cache *cache, struct cache_entry *one)
{
    HASH_DEL(cache->all, one); /* NOLINT(clang-analyzer-core.NullDereference): it is in the table */
    cache->bytes -= one->evaluation->bytes;
    evaluation_json_unref(one->evaluation);
    mem_free(one);
}

void evaluation_json_cache_free(struct evaluation_json_cache *cache)
{
    if (!cache)
        return;
    while (cache->all)
        cache_remove(cache, cache->all);
    pthread_mutex_destroy(&cache->lock);
    mem_free(cache);
}

/* A job's row is what changes; its bodies change only with sequence, claims or state. */
static bool is_same_row(const struct queue_job *a, const struct queue_job *b)
{
    return a->sequence == b->sequence && a->claims == b->claims && a->state == b->state &&
           a->attempt == b->attempt && a->ended_ms == b->ended_ms && a->put_ms == b->put_ms &&
           a->result_bytes == b->result_bytes;
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static struct evaluation_json *cache_find(struct evaluation_json_cache *cache,
                                          const struct queue_job *row)
{
    struct cache_entry *one;
    struct evaluation_json *evaluation = NULL;
    pthread_mutex_lock(&cache->lock);
    HASH_FIND_STR(cache->all, row->id, one);
    if (one && !is_same_row(&one->evaluation->job, row)) {
        cache_remove(cache, one);
    } else if (one) {
        evaluation = one->evaluation;
        atomic_fetch_add(&evaluation->refs, 1);
        HASH_DEL(cache->all, one); /* most recently used */
        HASH_ADD_STR(cache->all, id, one);
    }
    pthread_mutex_unlock(&cache->lock);
    return evaluation;
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void cache_add(struct evaluation_json_cache *cache, struct evaluation_json *evaluation)
{
    struct cache_entry *one;
    if (evaluation->bytes > CACHE_ENTRY_MAX_BYTES)
        return;
    pthread_mutex_lock(&cache->lock);
    HASH_FIND_STR(cache->all, evaluation->job.id, one);
    if (one)
        cache_remove(cache, one);
    one = mem_alloc(sizeof *one);
    snprintf(one->id, sizeof one->id, "%s", evaluation->job.id);
    one->evaluation = evaluation;
    atomic_fetch_add(&evaluation->refs, 1);
    cache->bytes += evaluation->bytes;
    HASH_ADD_STR(cache->all, id, one);
    while (cache->bytes > LIMIT_VIEWS_BYTES)
        cache_remove(cache, cache->all);
    pthread_mutex_unlock(&cache->lock);
}

int evaluation_json_of(struct evaluation_json_cache *cache, struct queue *queue,
                       const struct queue_job *row, struct evaluation_json **out, struct err *err)
{
    struct queue_job job;
    *out = cache_find(cache, row);
    if (*out)
        return 0;
    int result = queue_get(queue, row->id, QUEUE_PAYLOAD | QUEUE_RESULT, &job, err);
    if (result < 0)
        return result;
    *out = evaluation_json_make(&job);
    queue_job_deinit(&job);
    cache_add(cache, *out);
    return 0;
}

int evaluation_json_get(struct evaluation_json_cache *cache, struct queue *queue, const char *id,
                        struct evaluation_json **out, struct err *err)
{
    struct queue_job row;
    int result = queue_get(queue, id, QUEUE_NO_BODIES, &row, err);
    return result < 0 ? result : evaluation_json_of(cache, queue, &row, out, err);
}

void evaluation_json_write(const struct evaluation_json *evaluation, bool verdict,
                           const char *submission, struct buf *out)
{
    buf_puts(out, evaluation->head);
    if (verdict) {
        buf_puts(out, ",\"verdict\":");
        buf_puts(out, evaluation->verdict ? evaluation->verdict : "null");
    }
    if (submission)
        buf_printf(out, ",\"submission\":\"%s\"", submission);
    buf_puts(out, "}");
}
