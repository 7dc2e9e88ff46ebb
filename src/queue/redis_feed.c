#include "base/clock.h"
#include "base/log.h"
#include "queue/redis.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define EVENTS_MAX 500
#define BLOCK_MS 1000 /* so often a silent connection is tried, and a silent store looked at */
#define AGAIN_MIN_MS 50
#define AGAIN_MAX_MS 2000

struct feed {
    struct redis_store *store;
    redisContext *context;
    char wake[64]; /* the last entry seen */
    struct queue_event *events;
};

/* --------------------------------------------------------------------------------- where we are */

/* The number of the last event. */
static int read_number(struct feed *feed, int64_t *number)
{
    redisReply *reply = redisCommand(feed->context, "HGET " REDIS_PREFIX "meta number");
    if (!reply || reply->type == REDIS_REPLY_ERROR) {
        if (reply)
            freeReplyObject(reply);
        return -1;
    }
    *number = redis_reply_number(reply, 0);
    freeReplyObject(reply);
    return 0;
}

/* That number, and the last call to wake up. */
static int read_position(struct feed *feed, int64_t *number)
{
    if (read_number(feed, number) < 0)
        return -1;
    redisReply *reply = redisCommand(feed->context, "XREVRANGE " REDIS_PREFIX "wake + - COUNT 1");
    if (!reply || reply->type != REDIS_REPLY_ARRAY) {
        if (reply)
            freeReplyObject(reply);
        return -1;
    }
    snprintf(feed->wake, sizeof feed->wake, "0-0");
    if (reply->elements == 1 && reply->element[0]->type == REDIS_REPLY_ARRAY &&
        reply->element[0]->elements > 0)
        redis_reply_text(reply->element[0]->element[0], feed->wake, sizeof feed->wake);
    freeReplyObject(reply);
    return 0;
}

/* A server with a lower number than ours forgot what we know, or is another one. One that was away
 * may have forgotten and counted past us since: what it tells then shows no gap. */
static int resume(struct feed *feed, bool was_away)
{
    struct redis_store *store = feed->store;
    int64_t number;
    if (read_position(feed, &number) < 0)
        return -1;
    bool forgot = number < store->feed_position;
    if (forgot)
        store->feed_position = number;
    if (forgot || was_away)
        queue_tell(&store->queue, NULL, 0);
    queue_wake(&store->queue);
    return 0;
}

/* A store that is emptied (FLUSHALL) breaks no connection, and counts from 1 again: what it tells
 * stands below where we read, until it has counted past us. */
static int look(struct feed *feed)
{
    int64_t number;
    if (read_number(feed, &number) < 0)
        return -1;
    return number < feed->store->feed_position ? resume(feed, false) : 0;
}

/* -------------------------------------------------------------------------------------- reading */

static int take_events(struct feed *feed, const redisReply *entries)
{
    struct redis_store *store = feed->store;
    size_t count = 0;
    bool missed = false;
    for (size_t i = 0; i < entries->elements && count < EVENTS_MAX; i++) {
        struct queue_event *event = &feed->events[count];
        if (!redis_reply_event(entries->element[i], event))
            return -1;
        /* The stream is cut to a length; what was cut off before we read it leaves a gap. */
        missed = missed || event->number != store->feed_position + 1;
        store->feed_position = event->number;
        count++;
    }
    if (missed)
        queue_tell(&store->queue, NULL, 0);
    if (count > 0)
        queue_tell(&store->queue, feed->events, count);
    return 0;
}

static int take_wakes(struct feed *feed, const redisReply *entries)
{
    const redisReply *last = entries->elements ? entries->element[entries->elements - 1] : NULL;
    if (!last || last->type != REDIS_REPLY_ARRAY || last->elements == 0)
        return -1;
    redis_reply_text(last->element[0], feed->wake, sizeof feed->wake);
    queue_wake(&feed->store->queue);
    return 0;
}

/* Streams by name, each with its entries; nil where the time was up. */
static int take_reply(struct feed *feed, const redisReply *reply)
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
        if ((events ? take_events : take_wakes)(feed, stream->element[1]) < 0)
            return -1;
    }
    return 0;
}

/* True: the queue is being closed. */
static bool stopped(struct feed *feed, int timeout_ms)
{
    struct pollfd polled = {.fd = feed->store->feed_stop, .events = POLLIN};
    return poll(&polled, 1, timeout_ms) > 0;
}

/* Waits for the reply and for the end at once; 1: the end. */
static int wait_for_reply(struct feed *feed)
{
    struct pollfd polled[] = {{.fd = feed->store->feed_stop, .events = POLLIN},
                              {.fd = feed->context->fd, .events = POLLIN}};
    int result = poll(polled, 2, BLOCK_MS + feed->store->queue.options.call_ms);
    if (result < 0 && errno != EINTR)
        return -1;
    if (polled[0].revents && result > 0)
        return 1;
    return result == 0 ? -1 : 0;
}

static int read_some(struct feed *feed)
{
    int64_t position = feed->store->feed_position;
    void *reply = NULL;
    int done = 0;
    if (redisAppendCommand(feed->context,
                           "XREAD COUNT %d BLOCK %d STREAMS " REDIS_PREFIX "events " REDIS_PREFIX
                           "wake %lld-0 %s",
                           EVENTS_MAX, BLOCK_MS, (long long)position, feed->wake) != REDIS_OK)
        return -1;
    while (!done)
        if (redisBufferWrite(feed->context, &done) != REDIS_OK)
            return -1;
    int result = wait_for_reply(feed);
    if (result != 0)
        return result;
    if (redisGetReply(feed->context, &reply) != REDIS_OK)
        return -1;
    result = take_reply(feed, reply);
    freeReplyObject(reply);
    /* Wakes come from an emptied store too: a reply without events is where one shows. */
    return result == 0 && feed->store->feed_position == position ? look(feed) : result;
}

/* ----------------------------------------------------------------------------------- the thread */

static void *feed_all(void *argument)
{
    struct redis_store *store = argument;
    struct feed feed = {.store = store, .events = mem_alloc(EVENTS_MAX * sizeof *feed.events)};
    int again_ms = 0;
    while (!stopped(&feed, again_ms)) {
        struct err err = {0};
        int result = redis_connect(store, store->queue.options.call_ms, &feed.context, &err);
        if (result == 0 && (result = resume(&feed, again_ms > 0)) == 0) {
            if (again_ms > 0)
                log_event(LOG_LEVEL_WARN, "queue", "the store is back", "url", store->url.name,
                          NULL);
            again_ms = 0;
            while ((result = read_some(&feed)) == 0)
                continue;
        }
        if (feed.context) {
            if (feed.context->err)
                redis_broken(store, feed.context, &err);
            redisFree(feed.context);
        }
        feed.context = NULL;
        if (result == 1)
            break;
        if (again_ms == 0)
            log_event(LOG_LEVEL_WARN, "queue", "the store is away; trying again", "url",
                      store->url.name, "error", err.text, NULL);
        again_ms = again_ms == 0 ? AGAIN_MIN_MS : again_ms * 2;
        again_ms = again_ms > AGAIN_MAX_MS ? AGAIN_MAX_MS : again_ms;
    }
    mem_free(feed.events);
    return NULL;
}

int redis_feed_start(struct redis_store *store, struct err *err)
{
    struct redis_words words = {0};
    redisReply *reply;
    redis_words_text(&words, "HGET");
    redis_words_text(&words, REDIS_PREFIX "meta");
    redis_words_text(&words, "number");
    int result = redis_call(store, &words, &reply, err);
    redis_words_deinit(&words);
    if (result < 0)
        return result;
    store->feed_position = redis_reply_number(reply, 0);
    freeReplyObject(reply);
    store->feed_stop = eventfd(0, EFD_CLOEXEC);
    if (store->feed_stop < 0)
        return err_sys(err, errno, "queue: eventfd");
    result = pthread_create(&store->feed_thread, NULL, feed_all, store);
    store->feeding = result == 0;
    return result == 0 ? 0 : err_sys(err, result, "queue: cannot start the feed thread");
}

void redis_feed_stop(struct redis_store *store)
{
    if (store->feeding) {
        (void)!write(store->feed_stop, &(uint64_t){1}, sizeof(uint64_t));
        pthread_join(store->feed_thread, NULL);
    }
    if (store->feed_stop >= 0)
        close(store->feed_stop);
}
