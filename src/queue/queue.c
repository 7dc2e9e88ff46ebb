#include "queue/queue.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/paths.h"
#include "base/utf8.h"
#include "queue/arguments.h"
#include "queue/queue_settings.h"
#include "queue/redis_url.h"
#include "queue/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LEASE_MS 60000
#define ATTEMPTS 3
#define CALL_MS 10000
/* If a process dies between its commit and its wake-up of the others, they look again after this
 * long. */
#define LOOK_AGAIN_MS 1000

static const struct queue_store *const stores[] = {&queue_sqlite, &queue_redis, NULL};

void queue_options_read(struct queue_options *options, const struct settings *settings)
{
    const struct queue_settings *queue = queue_settings(settings);
    *options = (struct queue_options){.lease_ms = queue->lease_ms,
                                      .attempts = (int)queue->attempts,
                                      .keep_ms = queue->keep_ms,
                                      .keep_jobs = (uint64_t)queue->keep_jobs,
                                      .keep_bytes = queue->keep_bytes};
}

static char *default_url(struct err *err)
{
    char *directory = paths_state(err);
    if (!directory)
        return NULL;
    char *url = mem_printf("sqlite:%s/queue.db", directory);
    mem_free(directory);
    return url;
}

static const struct queue_store *find_store(const char *url)
{
    for (const struct queue_store *const *store = stores; *store; store++)
        if (strncmp(url, (*store)->scheme, strlen((*store)->scheme)) == 0)
            return *store;
    return NULL;
}

int queue_check_url(const char *url, struct err *err)
{
    const struct queue_store *store = find_store(url);
    struct redis_url parts;
    if (strlen(url) > LIMIT_QUEUE_URL_BYTES)
        return err_set(err, ERR_INPUT, "the URL is longer than %d bytes", LIMIT_QUEUE_URL_BYTES);
    if (!store)
        return err_set(err, ERR_INPUT,
                       "invalid URL '%.*s' (write sqlite:PATH or redis://HOST:PORT)",
                       (int)(strchr(url, '@') ? strcspn(url, ":/@") : strlen(url)), url);
    return store == &queue_redis ? redis_url_parse(&parts, url + strlen(store->scheme), err) : 0;
}

int queue_open(struct queue **out, const char *url, const struct queue_options *options,
               struct err *err)
{
    char *made = NULL;
    *out = NULL;
    if (*url == '\0' && !(url = made = default_url(err)))
        return err ? err->code : ERR_IO;
    int result = queue_check_url(url, err);
    if (result < 0) {
        err_prefix(err, "queue");
    } else {
        const struct queue_store *store = find_store(url);
        result = store->open(out, url + strlen(store->scheme), options, err);
    }
    mem_free(made);
    return result;
}

void queue_close(struct queue *queue)
{
    if (queue)
        queue->store->close(queue);
}

const char *queue_name(const struct queue *queue)
{
    return queue->name;
}

int queue_probe(struct queue *queue, struct err *err)
{
    return queue->store->probe(queue, err);
}

void queue_init(struct queue *queue, const struct queue_store *store, const char *name,
                const struct queue_options *options)
{
    queue->store = store;
    queue->options = *options;
    if (queue->options.lease_ms == 0)
        queue->options.lease_ms = LEASE_MS;
    if (queue->options.attempts == 0)
        queue->options.attempts = ATTEMPTS;
    if (queue->options.call_ms == 0)
        queue->options.call_ms = CALL_MS;
    queue->name = mem_strdup(name);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_mutex_init(&queue->watch_lock, NULL);
    clock_condition_init(&queue->ready);
}

void queue_deinit(struct queue *queue)
{
    pthread_cond_destroy(&queue->ready);
    pthread_mutex_destroy(&queue->lock);
    pthread_mutex_destroy(&queue->watch_lock);
    mem_free(queue->name);
}

void queue_job_deinit(struct queue_job *job)
{
    mem_free(job->payload);
    mem_free(job->result);
    job->payload = job->result = NULL;
}

const char *queue_state_name(enum queue_state state)
{
    static const char *const names[] = {"queued", "running", "done", "cancelled"};
    return (unsigned)state < QUEUE_STATES ? names[state] : "unknown";
}

void queue_copy(char *out, size_t size, const char *text, size_t count)
{
    count = utf8_cut(text, count, size - 1);
    memcpy(out, text, count);
    out[count] = '\0';
}

static void make_id(char id[QUEUE_ID_BYTES])
{
    snprintf(id, QUEUE_ID_BYTES, "%016" PRIx64 "%016" PRIx64, clock_secret(), clock_secret());
}

int queue_put(struct queue *queue, struct queue_submission *submissions, size_t count,
              struct err *err)
{
    int result = queue_check_put(submissions, count, err);
    if (result < 0 || count == 0)
        return result;
    for (size_t i = 0; i < count; i++) {
        if (submissions[i].id)
            snprintf(submissions[i].put_id, QUEUE_ID_BYTES, "%s", submissions[i].id);
        else
            make_id(submissions[i].put_id);
    }
    return queue->store->put(queue, submissions, count, err);
}

int queue_cancel(struct queue *queue, const char *id, enum queue_state *state, struct err *err)
{
    int result = queue_check_id("id", id, err);
    return result < 0 ? result : queue->store->cancel(queue, id, state, err);
}

static int deinit_failed(struct queue_job *job, int result)
{
    if (result < 0) {
        queue_job_deinit(job);
        *job = (struct queue_job){0};
    }
    return result;
}

int queue_get(struct queue *queue, const char *id, unsigned bodies, struct queue_job *job,
              struct err *err)
{
    *job = (struct queue_job){0};
    int result = queue_check_id("id", id, err);
    return result < 0 ? result : deinit_failed(job, queue->store->get(queue, id, bodies, job, err));
}

int queue_find(struct queue *queue, const char *key, unsigned bodies, struct queue_job *job,
               struct err *err)
{
    *job = (struct queue_job){0};
    int result = queue_check_id("key", key, err);
    return result < 0 ? result
                      : deinit_failed(job, queue->store->find(queue, key, bodies, job, err));
}

int queue_list(struct queue *queue, const struct queue_filter *filter, struct queue_job *jobs,
               size_t limit, size_t *count, struct err *err)
{
    *count = 0;
    if (filter->batch && queue_check_id("batch", filter->batch, err) < 0)
        return ERR_INPUT;
    if (limit > LIMIT_QUEUE_LIST_JOBS)
        return err_set(err, ERR_LIMIT, "queue: a page has at most %d jobs", LIMIT_QUEUE_LIST_JOBS);
    if (limit == 0)
        return 0;
    memset(jobs, 0, limit * sizeof *jobs);
    int result = queue->store->list(queue, filter, jobs, limit, count, err);
    if (result < 0) {
        for (size_t i = 0; i < limit; i++)
            queue_job_deinit(&jobs[i]);
        *count = 0;
    }
    return result;
}

int queue_stats(struct queue *queue, struct queue_stats *stats, struct err *err)
{
    memset(stats, 0, sizeof *stats);
    return queue->store->stats(queue, stats, err);
}

/* Waits until a wake-up after `seen`, or the deadline. False: stop waiting. */
static bool wait_for_wake(struct queue *queue, uint64_t *seen, int64_t deadline_ns)
{
    int64_t until_ns = clock_now_ns() + (int64_t)LOOK_AGAIN_MS * 1000000;
    bool again = until_ns < deadline_ns;
    struct timespec until = clock_timespec(again ? until_ns : deadline_ns);
    int result = 0;
    pthread_mutex_lock(&queue->lock);
    while (queue->wakes == *seen && !queue->interrupted && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&queue->ready, &queue->lock, &until);
    bool woken = queue->wakes != *seen;
    *seen = queue->wakes;
    bool stop = queue->interrupted;
    pthread_mutex_unlock(&queue->lock);
    return !stop && (woken || again) && clock_now_ns() < deadline_ns;
}

int queue_claim(struct queue *queue, const struct queue_claim *claim, struct queue_job *job,
                bool *got, struct err *err)
{
    *job = (struct queue_job){0};
    *got = false;
    int result = queue_check_claim(claim, err);
    if (result < 0)
        return result;
    struct queue_claim filled = *claim;
    if (filled.lease_ms == 0)
        filled.lease_ms = queue->options.lease_ms;
    int64_t deadline_ns = clock_now_ns() + (int64_t)claim->timeout_ms * 1000000;
    pthread_mutex_lock(&queue->lock);
    uint64_t seen = queue->wakes;
    pthread_mutex_unlock(&queue->lock);
    do {
        result = deinit_failed(job, queue->store->claim(queue, &filled, job, got, err));
        if (result < 0)
            *got = false;
    } while (result == 0 && !*got && wait_for_wake(queue, &seen, deadline_ns));
    return result;
}

void queue_interrupt(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->interrupted = true;
    pthread_cond_broadcast(&queue->ready);
    pthread_mutex_unlock(&queue->lock);
}

void queue_wake(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->wakes++;
    pthread_cond_broadcast(&queue->ready);
    pthread_mutex_unlock(&queue->lock);
}

int queue_renew(struct queue *queue, const struct queue_job *const *jobs, size_t count,
                int64_t lease_ms, enum queue_lease_state *lease_states, struct err *err)
{
    if (count == 0)
        return 0;
    if (lease_ms == 0)
        lease_ms = queue->options.lease_ms;
    int result = queue_check_lease(lease_ms, err);
    return result < 0 ? result
                      : queue->store->renew(queue, jobs, count, lease_ms, lease_states, err);
}

int queue_finish(struct queue *queue, const struct queue_job *job,
                 const struct queue_result *result, enum queue_finish_result *finish_result,
                 struct err *err)
{
    char reason[QUEUE_REASON_BYTES];
    struct queue_result cut = *result;
    int code = queue_check_result(result, err);
    if (code < 0)
        return code;
    queue_copy(reason, sizeof reason, result->reason ? result->reason : "",
               result->reason ? strlen(result->reason) : 0);
    cut.reason = reason;
    return queue->store->finish(queue, job, &cut, finish_result, err);
}

int queue_fail(struct queue *queue, const struct queue_job *job, const char *reason, bool counts,
               struct err *err)
{
    char cut[QUEUE_REASON_BYTES];
    queue_copy(cut, sizeof cut, reason ? reason : "", reason ? strlen(reason) : 0);
    return queue->store->fail(queue, job, cut, counts, err);
}

void queue_watch(struct queue *queue, struct queue_watcher *watcher)
{
    pthread_mutex_lock(&queue->watch_lock);
    watcher->next = queue->watchers;
    queue->watchers = watcher;
    pthread_mutex_unlock(&queue->watch_lock);
}

void queue_unwatch(struct queue *queue, struct queue_watcher *watcher)
{
    pthread_mutex_lock(&queue->watch_lock);
    struct queue_watcher **at = &queue->watchers;
    while (*at && *at != watcher)
        at = &(*at)->next;
    if (*at)
        *at = watcher->next;
    pthread_mutex_unlock(&queue->watch_lock);
}

void queue_notify(struct queue *queue, const struct queue_event *events, size_t count)
{
    pthread_mutex_lock(&queue->watch_lock);
    for (struct queue_watcher *watcher = queue->watchers; watcher; watcher = watcher->next)
        watcher->on_events(watcher, events, count);
    pthread_mutex_unlock(&queue->watch_lock);
}

int queue_reap(struct queue *queue, struct queue_reaping *reaping, struct err *err)
{
    *reaping = (struct queue_reaping){0};
    return queue->store->reap(queue, reaping, err);
}

int queue_register(struct queue *queue, const char *name, const void *bytes, size_t count,
                   int64_t keep_ms, struct err *err)
{
    if (queue_check_id("note", name, err) < 0)
        return ERR_INPUT;
    if (count > LIMIT_QUEUE_REGISTRATION_BYTES)
        return err_set(err, ERR_LIMIT, "queue: registration '%s' has %zu bytes; the limit is %zu",
                       name, count, LIMIT_QUEUE_REGISTRATION_BYTES);
    if (keep_ms < 1 || keep_ms > QUEUE_LEASE_MAX_MS)
        return err_set(err, ERR_INPUT, "queue: a registration is kept for 1 ms to an hour");
    return queue->store->register_worker(queue, name, bytes, count, keep_ms, err);
}

int queue_registrations(struct queue *queue, struct queue_registration **registrations,
                        size_t *count, struct err *err)
{
    *registrations = mem_alloc(LIMIT_QUEUE_REGISTRATIONS * sizeof **registrations);
    *count = 0;
    int result = queue->store->registrations(queue, *registrations, LIMIT_QUEUE_REGISTRATIONS,
                                             count, err);
    if (result < 0) {
        queue_registrations_free(*registrations, *count);
        *registrations = NULL;
        *count = 0;
    }
    return result;
}

void queue_registrations_free(struct queue_registration *registrations, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mem_free(registrations[i].bytes);
    mem_free(registrations);
}

int queue_document_put(struct queue *queue, const char *name, const void *bytes, size_t count,
                       int64_t version, int64_t keep_ms, bool *written, struct err *err)
{
    *written = false;
    int result = queue_check_id("name", name, err);
    if (result < 0)
        return result;
    if (count > LIMIT_QUEUE_BODY_BYTES)
        return err_set(err, ERR_LIMIT, "queue: a document of %zu bytes; the limit is %zu", count,
                       LIMIT_QUEUE_BODY_BYTES);
    if (version < 0)
        return err_set(err, ERR_INPUT, "queue: invalid document version %" PRId64, version);
    if (keep_ms < 1 || keep_ms > LIMIT_QUEUE_DOCUMENT_MS)
        return err_set(err, ERR_INPUT, "queue: a document is kept for 1 to %" PRId64 " ms",
                       LIMIT_QUEUE_DOCUMENT_MS);
    return queue->store->document_put(queue, name, bytes, count, version, keep_ms, written, err);
}

int queue_document_get(struct queue *queue, const char *name, struct queue_document *document,
                       struct err *err)
{
    *document = (struct queue_document){0};
    int result = queue_check_id("name", name, err);
    if (result == 0)
        result = queue->store->document_get(queue, name, document, err);
    if (result < 0)
        queue_document_deinit(document);
    return result;
}

void queue_document_deinit(struct queue_document *document)
{
    mem_free(document->bytes);
    *document = (struct queue_document){0};
}

int queue_document_remove(struct queue *queue, const char *name, bool *removed, struct err *err)
{
    *removed = false;
    int result = queue_check_id("name", name, err);
    return result < 0 ? result : queue->store->document_remove(queue, name, removed, err);
}
