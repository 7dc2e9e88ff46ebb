#include "client/remote_batch.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define TICK_MS 100
#define WAITERS 8
#define ITEM_ID_BYTES (REMOTE_ID_BYTES + 24)
#define CANCEL_TRIES 5 /* for a submission that may still be in transit */
#define CANCEL_PAUSE_MS 200

/* Requests sent together. */
struct chunk {
    char id[REMOTE_ID_BYTES];
    size_t first, count, ended;
    /* known: the server accepted it; single: its requests were sent one by one */
    bool known, single;
};

struct batch {
    const struct settings *settings;
    const char *url;
    const struct remote_work *work;
    _Atomic int stop;     /* the clients' `cancelled` */
    pthread_mutex_t lock; /* all below */
    pthread_cond_t changed;
    struct chunk *chunks;
    size_t chunk_count;
    bool *refused;
    size_t sent, claimed, ended; /* positions in work->count, in order */
    int running;
    int result;
    struct err err;
};

static void item_id(const struct chunk *chunk, size_t index, char id[ITEM_ID_BYTES])
{
    snprintf(id, ITEM_ID_BYTES, "%s-%zu", chunk->id, index - chunk->first);
}

/* With the lock. The first failure ends the batch. */
static void batch_fail(struct batch *batch, const struct err *err)
{
    if (batch->result == 0) {
        batch->result = err->code;
        batch->err = *err;
    }
    batch->stop = 1;
    pthread_cond_broadcast(&batch->changed);
}

/* How many requests may be sent; waits until at least one may. 0: stop. */
static size_t batch_free_slots(struct batch *batch)
{
    size_t max_in_flight = batch->work->max_in_flight ? batch->work->max_in_flight
                                                      : REMOTE_MAX_IN_FLIGHT,
           left = 0;
    pthread_mutex_lock(&batch->lock);
    while (!batch->stop && batch->sent < batch->work->count &&
           batch->sent - batch->ended >= max_in_flight)
        pthread_cond_wait(&batch->changed, &batch->lock);
    if (!batch->stop && batch->sent < batch->work->count)
        left = max_in_flight - (batch->sent - batch->ended);
    pthread_mutex_unlock(&batch->lock);
    return left < LIMIT_CLIENT_BATCH_JOBS ? left : LIMIT_CLIENT_BATCH_JOBS;
}

/* The next chunk's requests; *chunk is listed before they are sent, so that it can be cancelled. */
static json_t *chunk_gather(struct batch *batch, size_t most, struct chunk *chunk)
{
    json_t *requests = json_array();
    size_t bytes = 0;
    *chunk = (struct chunk){.first = batch->sent};
    remote_draw_id(chunk->id);
    while (chunk->count < most && chunk->first + chunk->count < batch->work->count &&
           bytes < LIMIT_CLIENT_BATCH_BYTES) {
        char id[ITEM_ID_BYTES];
        size_t index = chunk->first + chunk->count;
        json_t *request = batch->work->make(batch->work->context, index);
        size_t more = json_dumpb(request, NULL, 0, JSON_COMPACT);
        if (chunk->count > 0 && bytes + more > LIMIT_CLIENT_BATCH_BYTES) {
            json_decref(request);
            break;
        }
        item_id(chunk, index, id);
        json_put(request, "id", json_string(id));
        json_array_append_new(requests, request);
        bytes += more;
        chunk->count++;
    }
    pthread_mutex_lock(&batch->lock);
    batch->chunks = mem_resize(batch->chunks, (batch->chunk_count + 1) * sizeof *batch->chunks);
    batch->chunks[batch->chunk_count++] = *chunk;
    pthread_mutex_unlock(&batch->lock);
    return requests;
}

/* Sends each alone; reports those that are refused and leaves them out. */
static int chunk_submit_singly(struct batch *batch, struct remote *remote,
                               const struct chunk *chunk, json_t *requests, struct err *err)
{
    for (size_t i = 0; i < chunk->count; i++) {
        json_t *evaluation = NULL;
        int result = remote_submit(remote, json_array_get(requests, i), &evaluation, err);
        json_decref(evaluation);
        if (result < 0 && result != ERR_INPUT)
            return result;
        if (result < 0) {
            pthread_mutex_lock(&batch->lock);
            batch->refused[chunk->first + i] = true;
            batch->work->refuse(batch->work->context, chunk->first + i, err);
            pthread_mutex_unlock(&batch->lock);
        }
    }
    return 0;
}

static int chunk_submit(struct batch *batch, struct remote *remote, size_t most, struct err *err)
{
    struct chunk chunk;
    json_t *requests = chunk_gather(batch, most, &chunk);
    struct chunk *kept = NULL;
    int result = remote_submit_batch(remote, chunk.id, requests, err);
    if (result == ERR_INPUT) {
        chunk.single = true;
        result = chunk_submit_singly(batch, remote, &chunk, requests, err);
    }
    json_decref(requests);
    pthread_mutex_lock(&batch->lock);
    kept = &batch->chunks[batch->chunk_count - 1];
    kept->single = chunk.single;
    kept->known = result == 0;
    if (result == 0)
        batch->sent += chunk.count;
    pthread_cond_broadcast(&batch->changed);
    pthread_mutex_unlock(&batch->lock);
    return result;
}

/* The last of a thread, and what its function returns. */
static void *thread_end(struct batch *batch, struct remote *remote, int result,
                        const struct err *err)
{
    remote_close(remote);
    pthread_mutex_lock(&batch->lock);
    if (result < 0)
        batch_fail(batch, err);
    batch->running--;
    pthread_cond_broadcast(&batch->changed);
    pthread_mutex_unlock(&batch->lock);
    return NULL;
}

static void *submit_all(void *argument)
{
    struct batch *batch = argument;
    struct remote *remote = NULL;
    struct err err;
    size_t most;
    int result = remote_open(&remote, batch->settings, batch->url, &batch->stop, &err);
    while (result == 0 && (most = batch_free_slots(batch)) > 0)
        result = chunk_submit(batch, remote, most, &err);
    return thread_end(batch, remote, result, &err);
}

/* With the lock held. */
static struct chunk *chunk_of(struct batch *batch, size_t index)
{
    size_t low = 0, high = batch->chunk_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (batch->chunks[middle].first <= index)
            low = middle;
        else
            high = middle;
    }
    return &batch->chunks[low];
}

/* The next evaluation to wait for that the server has; false: stop. */
static bool batch_next_waiting(struct batch *batch, size_t *index, char id[ITEM_ID_BYTES])
{
    bool found = false;
    pthread_mutex_lock(&batch->lock);
    while (!found && !batch->stop && batch->claimed < batch->work->count) {
        if (batch->claimed == batch->sent) {
            pthread_cond_wait(&batch->changed, &batch->lock);
            continue;
        }
        *index = batch->claimed++;
        found = !batch->refused[*index];
        struct chunk *chunk = chunk_of(batch, *index);
        item_id(chunk, *index, id);
        if (!found) {
            chunk->ended++;
            batch->ended++;
        }
    }
    pthread_cond_broadcast(&batch->changed);
    pthread_mutex_unlock(&batch->lock);
    return found;
}

static int wait_for(struct batch *batch, struct remote *remote, size_t index, const char *id,
                    struct err *err)
{
    struct remote_evaluation evaluation;
    json_t *object = NULL;
    int result = remote_wait(remote, id, &object, err);
    if (result == 0)
        result = remote_read(object, &evaluation, err);
    if (result == 0) {
        pthread_mutex_lock(&batch->lock);
        batch->work->report(batch->work->context, index, &evaluation);
        chunk_of(batch, index)->ended++;
        batch->ended++;
        pthread_cond_broadcast(&batch->changed);
        pthread_mutex_unlock(&batch->lock);
    }
    json_decref(object);
    return result;
}

static void *wait_all(void *argument)
{
    struct batch *batch = argument;
    struct remote *remote = NULL;
    struct err err;
    char id[ITEM_ID_BYTES];
    size_t index;
    int result = remote_open(&remote, batch->settings, batch->url, &batch->stop, &err);
    while (result == 0 && batch_next_waiting(batch, &index, id))
        result = wait_for(batch, remote, index, id, &err);
    return thread_end(batch, remote, result, &err);
}

static void cancel_chunk(struct remote *remote, const struct chunk *chunk, int64_t deadline_ns)
{
    struct err ignored;
    for (size_t i = 0; chunk->single && i < chunk->count && clock_left_ms(deadline_ns) > 0; i++) {
        char id[ITEM_ID_BYTES];
        item_id(chunk, chunk->first + i, id);
        if (remote_cancel(remote, id, &ignored) < 0)
            continue; /* it had ended, or was refused */
    }
    /* If its submission was interrupted, it may still be in transit. */
    for (int i = 0; i < (chunk->known ? 1 : CANCEL_TRIES) && clock_left_ms(deadline_ns) > 0; i++) {
        struct timespec pause = {.tv_nsec = CANCEL_PAUSE_MS * 1000000L};
        if (i > 0)
            nanosleep(&pause, NULL);
        if (remote_cancel_batch(remote, chunk->id, &ignored) == 0)
            break;
    }
}

static void cancel_rest(struct batch *batch)
{
    int64_t deadline_ns = clock_now_ns() + REMOTE_CANCEL_MS * (int64_t)1000000;
    struct remote *remote = NULL;
    struct err ignored;
    if (remote_open_briefly(&remote, batch->settings, batch->url, REMOTE_CANCEL_MS, &ignored) < 0)
        return;
    for (size_t i = 0; i < batch->chunk_count && clock_left_ms(deadline_ns) > 0; i++)
        if (batch->chunks[i].ended < batch->chunks[i].count)
            cancel_chunk(remote, &batch->chunks[i], deadline_ns);
    remote_close(remote);
}

/* Waits until all threads have ended; forwards a cancellation to them. */
static void batch_join(struct batch *batch, const _Atomic int *cancelled)
{
    pthread_mutex_lock(&batch->lock);
    while (batch->running > 0) {
        struct timespec until = clock_in_ms(TICK_MS);
        pthread_cond_timedwait(&batch->changed, &batch->lock, &until);
        if (cancelled && *cancelled && !batch->stop) {
            struct err err;
            err_set(&err, ERR_CANCELLED, "cancelled");
            batch_fail(batch, &err);
        }
        if (batch->work->tick)
            batch->work->tick(batch->work->context);
    }
    pthread_mutex_unlock(&batch->lock);
}

int remote_batch_run(const struct settings *settings, const char *url,
                     const struct remote_work *work, const _Atomic int *cancelled, struct err *err)
{
    struct batch batch = {.settings = settings, .url = url, .work = work};
    size_t waiters = work->count < WAITERS ? work->count : WAITERS, started = 0;
    pthread_t threads[WAITERS + 1];
    batch.refused = mem_alloc((work->count + 1) * sizeof(bool));
    pthread_mutex_init(&batch.lock, NULL);
    pthread_cond_init(&batch.changed, NULL);
    pthread_mutex_lock(&batch.lock);
    while (started <= waiters &&
           pthread_create(&threads[started], NULL, started ? wait_all : submit_all, &batch) == 0)
        started++;
    batch.running = (int)started;
    if (started < 2 && work->count > 0) {
        err_set(err, ERR_IO, "cannot start a thread");
        batch_fail(&batch, err);
    }
    pthread_mutex_unlock(&batch.lock);
    batch_join(&batch, cancelled);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    if (batch.result < 0) {
        cancel_rest(&batch);
        if (err)
            *err = batch.err;
    }
    mem_free(batch.refused);
    mem_free(batch.chunks);
    pthread_cond_destroy(&batch.changed);
    pthread_mutex_destroy(&batch.lock);
    return batch.result;
}
