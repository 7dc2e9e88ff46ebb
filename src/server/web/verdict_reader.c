#include "server/web/verdict_reader.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <uthash.h>

#define PAGE_JOBS 64
#define RETRY_MS 1000

struct pending {
    int64_t sequence;
    UT_hash_handle hh;
};

struct verdict_reader {
    struct queue_watcher watcher; /* first */
    struct queue *queue;
    pthread_t thread;

    pthread_mutex_t lock; /* all of this part */
    pthread_cond_t wake;
    bool quit, missed;
    char (*ended)[QUEUE_ID_BYTES]; /* [LIMIT_FEED_EVENTS]: jobs of events */
    size_t ended_count;
    uint64_t read;
    bool complete;
    char why[ERR_TEXT_MAX];

    pthread_mutex_t table_lock;
    struct verdict_table *table;

    /* The thread's alone. Jobs from `begin` on are counted by their events, those before `cursor`
     * when their page is read; of those between, the ones that had not ended when their page was
     * read are in `pending`. */
    int64_t begin, cursor;
    struct pending *pending;
};

/* On the queue's thread: only notes what ended. */
static void on_queue_events(struct queue_watcher *watcher, const struct queue_event *events,
                            size_t count)
{
    struct verdict_reader *reader = (struct verdict_reader *)watcher;
    pthread_mutex_lock(&reader->lock);
    reader->missed = reader->missed || count == 0;
    for (size_t i = 0; i < count; i++) {
        if (events[i].state != QUEUE_DONE)
            continue;
        if (reader->ended_count == LIMIT_FEED_EVENTS)
            reader->missed = true;
        else
            snprintf(reader->ended[reader->ended_count++], QUEUE_ID_BYTES, "%s", events[i].id);
    }
    pthread_cond_signal(&reader->wake);
    pthread_mutex_unlock(&reader->lock);
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void forget_pending(struct verdict_reader *reader)
{
    struct pending *one, *next;
    HASH_ITER (hh, reader->pending, one, next) {
        HASH_DEL(reader->pending, one);
        mem_free(one);
    }
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void add_pending(struct verdict_reader *reader, int64_t sequence)
{
    struct pending *one = mem_alloc(sizeof *one);
    one->sequence = sequence;
    HASH_ADD(hh, reader->pending, sequence, sizeof one->sequence, one);
}

/* Whether it was there. */
/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static bool take_pending(struct verdict_reader *reader, int64_t sequence)
{
    struct pending *one;
    HASH_FIND(hh, reader->pending, &sequence, sizeof sequence, one);
    if (!one)
        return false;
    HASH_DEL(reader->pending, one);
    mem_free(one);
    return true;
}

static void begin_anew(struct verdict_reader *reader)
{
    forget_pending(reader);
    reader->begin = reader->cursor = 0;
    pthread_mutex_lock(&reader->table_lock);
    verdict_table_free(reader->table);
    reader->table = verdict_table_new();
    pthread_mutex_unlock(&reader->table_lock);
    pthread_mutex_lock(&reader->lock);
    reader->read = 0;
    reader->complete = false;
    pthread_mutex_unlock(&reader->lock);
}

static void add_job(struct verdict_reader *reader, const struct queue_job *job)
{
    const struct verdict_entry entry = {.id = job->id,
                                        .worker = job->worker,
                                        .ended_ms = job->ended_ms,
                                        .verdict = {job->result, job->result_bytes}};
    if (!job->result)
        return;
    pthread_mutex_lock(&reader->table_lock);
    verdict_table_add(reader->table, &entry);
    pthread_mutex_unlock(&reader->table_lock);
}

static int read_ended(struct verdict_reader *reader, const char *id, struct err *err)
{
    struct queue_job job;
    int result = queue_get(reader->queue, id, QUEUE_RESULT, &job, err);
    if (result == ERR_MISSING)
        return 0;
    if (result < 0)
        return result;
    if (job.state == QUEUE_DONE &&
        (job.sequence >= reader->begin ||
         (job.sequence >= reader->cursor && take_pending(reader, job.sequence))))
        add_job(reader, &job);
    queue_job_deinit(&job);
    return 0;
}

static int read_page(struct verdict_reader *reader, struct err *err)
{
    struct queue_job jobs[PAGE_JOBS];
    const struct queue_filter filter = {.state = QUEUE_ANY_STATE,
                                        .before = reader->cursor,
                                        .bodies = QUEUE_RESULT};
    size_t count = 0;
    int result = queue_list(reader->queue, &filter, jobs, PAGE_JOBS, &count, err);
    if (result < 0)
        return result;
    if (reader->cursor == 0 && count > 0)
        reader->begin = jobs[0].sequence + 1;
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].state == QUEUE_DONE)
            add_job(reader, &jobs[i]);
        else if (jobs[i].state != QUEUE_CANCELLED)
            add_pending(reader, jobs[i].sequence);
        reader->cursor = jobs[i].sequence;
        queue_job_deinit(&jobs[i]);
    }
    pthread_mutex_lock(&reader->lock);
    reader->read += count;
    reader->complete = count < PAGE_JOBS || reader->read >= LIMIT_WEB_VERDICTS;
    pthread_mutex_unlock(&reader->lock);
    return 0;
}

/* What there is to do; false: the end. `ended` is as long as the reader's. */
static bool wait_for_work(struct verdict_reader *reader, char (*ended)[QUEUE_ID_BYTES],
                          size_t *count, bool *missed)
{
    pthread_mutex_lock(&reader->lock);
    while (!reader->quit && !reader->missed && reader->ended_count == 0 && reader->complete)
        pthread_cond_wait(&reader->wake, &reader->lock);
    *count = reader->ended_count;
    memcpy(ended, reader->ended, *count * sizeof *ended);
    *missed = reader->missed;
    reader->ended_count = 0;
    reader->missed = false;
    bool on = !reader->quit;
    pthread_mutex_unlock(&reader->lock);
    return on;
}

static int do_work(struct verdict_reader *reader, char (*ended)[QUEUE_ID_BYTES], size_t count,
                   struct err *err)
{
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++)
        result = read_ended(reader, ended[i], err);
    pthread_mutex_lock(&reader->lock);
    bool complete = reader->complete;
    pthread_mutex_unlock(&reader->lock);
    return result == 0 && !complete ? read_page(reader, err) : result;
}

/* After an error the events that were not read are missed. */
static void take_result(struct verdict_reader *reader, int result, const struct err *err)
{
    pthread_mutex_lock(&reader->lock);
    snprintf(reader->why, sizeof reader->why, "%s", result < 0 ? err->text : "");
    reader->missed = reader->missed || result < 0;
    struct timespec until = clock_in_ms(RETRY_MS);
    if (result < 0 && !reader->quit)
        pthread_cond_timedwait(&reader->wake, &reader->lock, &until);
    pthread_mutex_unlock(&reader->lock);
}

static void *reader_main(void *argument)
{
    struct verdict_reader *reader = argument;
    char(*ended)[QUEUE_ID_BYTES] = mem_alloc(LIMIT_FEED_EVENTS * sizeof *ended);
    size_t count;
    bool missed;
    while (wait_for_work(reader, ended, &count, &missed)) {
        struct err err;
        if (missed) {
            begin_anew(reader);
            count = 0;
        }
        take_result(reader, do_work(reader, ended, count, &err), &err);
    }
    mem_free(ended);
    return NULL;
}

static void reader_free(struct verdict_reader *reader)
{
    forget_pending(reader);
    verdict_table_free(reader->table);
    mem_free(reader->ended);
    pthread_cond_destroy(&reader->wake);
    pthread_mutex_destroy(&reader->table_lock);
    pthread_mutex_destroy(&reader->lock);
    mem_free(reader);
}

int verdict_reader_open(struct verdict_reader **out, struct queue *queue, struct err *err)
{
    struct verdict_reader *reader = mem_alloc(sizeof *reader);
    reader->queue = queue;
    reader->watcher.on_events = on_queue_events;
    reader->ended = mem_alloc(LIMIT_FEED_EVENTS * sizeof *reader->ended);
    reader->table = verdict_table_new();
    pthread_mutex_init(&reader->lock, NULL);
    pthread_mutex_init(&reader->table_lock, NULL);
    pthread_cond_init(&reader->wake, NULL);
    queue_watch(queue, &reader->watcher);
    int code = pthread_create(&reader->thread, NULL, reader_main, reader);
    if (code != 0) {
        queue_unwatch(queue, &reader->watcher);
        reader_free(reader);
        return err_sys(err, code, "cannot start the thread that reads verdicts");
    }
    *out = reader;
    return 0;
}

void verdict_reader_close(struct verdict_reader *reader)
{
    if (!reader)
        return;
    queue_unwatch(reader->queue, &reader->watcher);
    pthread_mutex_lock(&reader->lock);
    reader->quit = true;
    pthread_cond_broadcast(&reader->wake);
    pthread_mutex_unlock(&reader->lock);
    pthread_join(reader->thread, NULL);
    reader_free(reader);
}

const struct verdict_table *verdict_reader_table(struct verdict_reader *reader)
{
    pthread_mutex_lock(&reader->table_lock);
    return reader->table;
}

void verdict_reader_release(struct verdict_reader *reader)
{
    pthread_mutex_unlock(&reader->table_lock);
}

json_t *verdict_reader_progress(struct verdict_reader *reader)
{
    json_t *object = json_object();
    pthread_mutex_lock(&reader->lock);
    json_put(object, "read", json_integer((json_int_t)reader->read));
    json_put(object, "complete", json_boolean(reader->complete));
    json_put(object, "why", json_text(reader->why[0] ? reader->why : NULL));
    pthread_mutex_unlock(&reader->lock);
    return object;
}
