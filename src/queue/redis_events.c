#include "base/log.h"
#include "queue/redis.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define EVENTS_MAX 500
#define BLOCK_MS 1000 /* how often a silent connection is tested and a silent store checked */
#define AGAIN_MIN_MS 50
#define AGAIN_MAX_MS 2000

struct event_reader {
    struct redis_store *store;
    redisContext *context;
    char wake[64]; /* id of the last entry read */
    struct queue_event *events;
};

/* The number of the last event. */
static int read_number(struct event_reader *event_reader, int64_t *number)
{
    redisReply *reply = redisCommand(event_reader->context, "HGET " REDIS_PREFIX "meta number");
    if (!reply || reply->type == REDIS_REPLY_ERROR) {
        freeReplyObject(reply);
        return -1;
    }
    *number = redis_reply_number(reply, 0);
    freeReplyObject(reply);
    return 0;
}

/* That number, and the id of the last wake-up. */
static int read_position(struct event_reader *event_reader, int64_t *number)
{
    if (read_number(event_reader, number) < 0)
        return -1;
    redisReply *reply = redisCommand(event_reader->context,
                                     "XREVRANGE " REDIS_PREFIX "wake + - COUNT 1");
    if (!reply || reply->type != REDIS_REPLY_ARRAY) {
        freeReplyObject(reply);
        return -1;
    }
    snprintf(event_reader->wake, sizeof event_reader->wake, "0-0");
    if (reply->elements == 1 && reply->element[0]->type == REDIS_REPLY_ARRAY &&
        reply->element[0]->elements > 0)
        redis_reply_text(reply->element[0]->element[0], event_reader->wake,
                         sizeof event_reader->wake);
    freeReplyObject(reply);
    return 0;
}

/* A server whose number is lower than ours lost its data, or is another server. A server that
 * was unreachable may have lost its data and counted past our position since, so its events show
 * no gap. */
static int event_reader_resume(struct event_reader *event_reader, bool was_away)
{
    struct redis_store *store = event_reader->store;
    int64_t number;
    if (read_position(event_reader, &number) < 0)
        return -1;
    bool forgot = number < store->event_position;
    if (forgot)
        store->event_position = number;
    if (forgot || was_away)
        queue_notify(&store->queue, NULL, 0);
    queue_wake(&store->queue);
    return 0;
}

/* An emptied store (FLUSHALL) keeps its connections and counts from 1 again: its events stay
 * below our position until the count passes it. */
static int event_reader_check(struct event_reader *event_reader)
{
    int64_t number;
    if (read_number(event_reader, &number) < 0)
        return -1;
    return number < event_reader->store->event_position ? event_reader_resume(event_reader, false)
                                                        : 0;
}

static int handle_events(struct event_reader *event_reader, const redisReply *entries)
{
    struct redis_store *store = event_reader->store;
    size_t count = 0;
    bool missed = false;
    for (size_t i = 0; i < entries->elements && count < EVENTS_MAX; i++) {
        struct queue_event *event = &event_reader->events[count];
        if (!redis_reply_event(entries->element[i], event))
            return -1;
        /* The stream is trimmed to a length; entries trimmed before we read them leave a gap. */
        missed = missed || event->number != store->event_position + 1;
        store->event_position = event->number;
        count++;
    }
    if (missed)
        queue_notify(&store->queue, NULL, 0);
    if (count > 0)
        queue_notify(&store->queue, event_reader->events, count);
    return 0;
}

static int handle_wakes(struct event_reader *event_reader, const redisReply *entries)
{
    const redisReply *last = entries->elements ? entries->element[entries->elements - 1] : NULL;
    if (!last || last->type != REDIS_REPLY_ARRAY || last->elements == 0)
        return -1;
    redis_reply_text(last->element[0], event_reader->wake, sizeof event_reader->wake);
    queue_wake(&event_reader->store->queue);
    return 0;
}

/* Streams by name, each with its entries; nil after the timeout. */
static int handle_reply(struct event_reader *event_reader, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_NIL)
        return 0;
    if (reply->type != REDIS_REPLY_ARRAY)
        return -1;
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *stream = reply->element[i];
        char name[64];
        if (stream->type != REDIS_REPLY_ARRAY || stream->elements != 2 ||
            stream->element[1]->type != REDIS_REPLY_ARRAY)
            return -1;
        redis_reply_text(stream->element[0], name, sizeof name);
        bool events = strcmp(name, REDIS_PREFIX "events") == 0;
        if ((events ? handle_events : handle_wakes)(event_reader, stream->element[1]) < 0)
            return -1;
    }
    return 0;
}

/* Waits up to timeout_ms. True: the queue is closing. */
static bool event_reader_stopping(struct event_reader *event_reader, int timeout_ms)
{
    struct pollfd polled = {.fd = event_reader->store->event_stop, .events = POLLIN};
    return poll(&polled, 1, timeout_ms) > 0;
}

/* Waits for the reply and for the close at once; 1: closing. */
static int wait_for_reply(struct event_reader *event_reader)
{
    struct pollfd polled[] = {{.fd = event_reader->store->event_stop, .events = POLLIN},
                              {.fd = event_reader->context->fd, .events = POLLIN}};
    int result = poll(polled, 2, BLOCK_MS + event_reader->store->queue.options.call_ms);
    if (result < 0 && errno != EINTR)
        return -1;
    if (polled[0].revents && result > 0)
        return 1;
    return result == 0 ? -1 : 0;
}

static int read_some(struct event_reader *event_reader)
{
    int64_t position = event_reader->store->event_position;
    void *reply = NULL;
    int done = 0;
    if (redisAppendCommand(event_reader->context,
                           "XREAD COUNT %d BLOCK %d STREAMS " REDIS_PREFIX "events " REDIS_PREFIX
                           "wake %lld-0 %s",
                           EVENTS_MAX, BLOCK_MS, (long long)position,
                           event_reader->wake) != REDIS_OK)
        return -1;
    while (!done)
        if (redisBufferWrite(event_reader->context, &done) != REDIS_OK)
            return -1;
    int result = wait_for_reply(event_reader);
    if (result != 0)
        return result;
    if (redisGetReply(event_reader->context, &reply) != REDIS_OK)
        return -1;
    result = handle_reply(event_reader, reply);
    freeReplyObject(reply);
    /* Wake-ups also come from an emptied store, so check for one when a reply has no events. */
    return result == 0 && event_reader->store->event_position == position
               ? event_reader_check(event_reader)
               : result;
}

static void *event_thread_main(void *argument)
{
    struct redis_store *store = argument;
    struct event_reader event_reader = {.store = store,
                                        .events = mem_alloc(EVENTS_MAX *
                                                            sizeof *event_reader.events)};
    int again_ms = 0;
    while (!event_reader_stopping(&event_reader, again_ms)) {
        struct err err = {0};
        int result = redis_connect(store, store->queue.options.call_ms, &event_reader.context,
                                   &err);
        if (result == 0 && (result = event_reader_resume(&event_reader, again_ms > 0)) == 0) {
            if (again_ms > 0)
                log_event(LOG_LEVEL_WARN, "queue", "connected again", "url", store->url.name, NULL);
            again_ms = 0;
            while ((result = read_some(&event_reader)) == 0)
                continue;
        }
        if (event_reader.context) {
            if (event_reader.context->err)
                redis_broken(store, event_reader.context, &err);
            redisFree(event_reader.context);
        }
        event_reader.context = NULL;
        if (result == 1)
            break;
        if (again_ms == 0)
            log_event(LOG_LEVEL_WARN, "queue", "cannot reach the store; retrying", "url",
                      store->url.name, "error", err.text, NULL);
        again_ms = again_ms == 0 ? AGAIN_MIN_MS : again_ms * 2;
        again_ms = again_ms > AGAIN_MAX_MS ? AGAIN_MAX_MS : again_ms;
    }
    mem_free(event_reader.events);
    return NULL;
}

int redis_events_start(struct redis_store *store, struct err *err)
{
    struct redis_words words = {0};
    redisReply *reply;
    redis_words_add(&words, "sss", "HGET", REDIS_PREFIX "meta", "number");
    int result = redis_call(store, &words, &reply, err);
    redis_words_deinit(&words);
    if (result < 0)
        return result;
    store->event_position = redis_reply_number(reply, 0);
    freeReplyObject(reply);
    store->event_stop = eventfd(0, EFD_CLOEXEC);
    if (store->event_stop < 0)
        return err_sys(err, errno, "queue: eventfd");
    result = pthread_create(&store->event_thread, NULL, event_thread_main, store);
    store->event_thread_started = result == 0;
    return result == 0 ? 0 : err_sys(err, result, "queue: cannot start the event thread");
}

void redis_events_stop(struct redis_store *store)
{
    if (store->event_thread_started) {
        (void)!write(store->event_stop, &(uint64_t){1}, sizeof(uint64_t));
        pthread_join(store->event_thread, NULL);
    }
    if (store->event_stop >= 0)
        close(store->event_stop);
}
