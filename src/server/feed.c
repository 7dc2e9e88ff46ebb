#include "server/feed.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <uthash.h>
#include <utlist.h>

struct channel { /* all listeners of one key */
    char key[FEED_KEY_BYTES];
    struct feed_listener *listeners;
    UT_hash_handle hh;
};

struct feed {
    struct queue_watcher watcher; /* first */
    struct queue *queue;
    pthread_t thread;
    struct channel *channels; /* the thread's */
    bool retry;               /* likewise: some look failed */

    pthread_mutex_t lock; /* all below */
    pthread_cond_t some;
    struct queue_event *events;
    size_t event_count;
    size_t listener_count; /* added and not yet dropped */
    bool missed, quit;
    struct feed_listener *added, *cancelled;
};

/* ----------------------------------------------------------------------------------------- keys */

void feed_key_job(char key[FEED_KEY_BYTES], const char *id)
{
    snprintf(key, FEED_KEY_BYTES, "j%s", id);
}

void feed_key_batch(char key[FEED_KEY_BYTES], const char *id)
{
    snprintf(key, FEED_KEY_BYTES, "b%s", id);
}

void feed_key_all(char key[FEED_KEY_BYTES])
{
    snprintf(key, FEED_KEY_BYTES, "*");
}

/* ---------------------------------------------------------------------------------------- inbox */

static void tell(struct queue_watcher *watcher, const struct queue_event *events, size_t count)
{
    struct feed *feed = (struct feed *)watcher;
    pthread_mutex_lock(&feed->lock);
    if (feed->listener_count > 0) {
        if (count == 0 || feed->event_count + count > LIMIT_FEED_EVENTS) {
            feed->missed = true;
        } else {
            memcpy(feed->events + feed->event_count, events, count * sizeof *events);
            feed->event_count += count;
        }
        pthread_cond_signal(&feed->some);
    }
    pthread_mutex_unlock(&feed->lock);
}

/* With the lock held. */
static void push_cancelled(struct feed *feed, struct feed_listener *listener)
{
    listener->cancelled_next = feed->cancelled;
    feed->cancelled = listener;
}

void feed_add(struct feed *feed, struct feed_listener *listener)
{
    pthread_mutex_lock(&feed->lock);
    listener->added = true;
    feed->listener_count++;
    listener->added_next = feed->added;
    feed->added = listener;
    if (listener->cancelled)
        push_cancelled(feed, listener);
    pthread_cond_signal(&feed->some);
    pthread_mutex_unlock(&feed->lock);
}

void feed_cancel(struct feed *feed, struct feed_listener *listener)
{
    pthread_mutex_lock(&feed->lock);
    if (!listener->cancelled && listener->added)
        push_cancelled(feed, listener);
    listener->cancelled = true;
    pthread_cond_signal(&feed->some);
    pthread_mutex_unlock(&feed->lock);
}

/* --------------------------------------------------------------------------------------- thread */

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void enter(struct feed *feed, struct feed_listener *listener)
{
    struct channel *channel;
    HASH_FIND_STR(feed->channels, listener->key, channel);
    if (!channel) {
        channel = mem_alloc(sizeof *channel);
        snprintf(channel->key, sizeof channel->key, "%s", listener->key);
        HASH_ADD_STR(feed->channels, key, channel);
    }
    DL_APPEND(channel->listeners, listener);
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void leave(struct feed *feed, struct feed_listener *listener)
{
    struct channel *channel;
    HASH_FIND_STR(feed->channels, listener->key, channel);
    if (!channel)
        return;
    DL_DELETE(channel->listeners, listener);
    if (channel->listeners)
        return;
    HASH_DEL(feed->channels, channel);
    mem_free(channel);
}

static void drop(struct feed *feed, struct feed_listener *listener)
{
    pthread_mutex_lock(&feed->lock);
    feed->listener_count--;
    pthread_mutex_unlock(&feed->lock);
    listener->drop(listener);
}

/* Of a listener that is in no channel: it goes into one, or is dropped. */
static void look(struct feed *feed, struct feed_listener *listener, const struct queue_event *event)
{
    enum feed_look result = listener->look(listener, event);
    if (result == FEED_OVER) {
        pthread_mutex_lock(&feed->lock);
        bool elsewhere = listener->cancelled; /* it waits in that list: dropped there */
        listener->cancelled = true;
        pthread_mutex_unlock(&feed->lock);
        if (!elsewhere) {
            drop(feed, listener);
            return;
        }
    }
    feed->retry = feed->retry || result == FEED_AGAIN;
    enter(feed, listener);
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void wake(struct feed *feed, const char *key, const struct queue_event *event)
{
    struct channel *channel;
    HASH_FIND_STR(feed->channels, key, channel);
    if (!channel)
        return;
    /* Those that go back into the channel are not to be met again. */
    struct feed_listener *listeners = channel->listeners, *listener, *next;
    HASH_DEL(feed->channels, channel);
    mem_free(channel);
    DL_FOREACH_SAFE (listeners, listener, next) {
        look(feed, listener, event);
    }
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void wake_all(struct feed *feed)
{
    struct channel *channels = feed->channels, *channel, *next_channel;
    struct feed_listener *listener, *next;
    feed->channels = NULL;
    feed->retry = false;
    HASH_ITER (hh, channels, channel, next_channel) {
        HASH_DEL(channels, channel);
        DL_FOREACH_SAFE (channel->listeners, listener, next) {
            /* One that is away for one is away for all: they need not wait for it each. */
            if (feed->retry)
                enter(feed, listener);
            else
                look(feed, listener, NULL);
        }
        mem_free(channel);
    }
}

static void handle_events(struct feed *feed, const struct queue_event *events, size_t count)
{
    char key[FEED_KEY_BYTES];
    for (size_t i = 0; i < count; i++) {
        feed_key_job(key, events[i].id);
        wake(feed, key, &events[i]);
        if (events[i].batch[0]) {
            feed_key_batch(key, events[i].batch);
            wake(feed, key, &events[i]);
        }
        feed_key_all(key);
        wake(feed, key, &events[i]);
    }
}

static void handle_lists(struct feed *feed, struct feed_listener *added,
                         struct feed_listener *cancelled)
{
    struct feed_listener *next;
    for (; added; added = next) {
        next = added->added_next;
        pthread_mutex_lock(&feed->lock);
        bool unwanted = added->cancelled;
        pthread_mutex_unlock(&feed->lock);
        if (feed->retry || unwanted)
            enter(feed, added);
        else
            look(feed, added, NULL);
    }
    for (; cancelled; cancelled = next) {
        next = cancelled->cancelled_next;
        leave(feed, cancelled);
        drop(feed, cancelled);
    }
}

/* With the lock held. False: it is to end. */
static bool wait_for_some(struct feed *feed)
{
    int64_t until_ns = clock_now_ns() + (int64_t)FEED_RETRY_MS * 1000000;
    struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
    int result = 0;
    while (!feed->quit && feed->event_count == 0 && !feed->missed && !feed->added &&
           !feed->cancelled && result != ETIMEDOUT) {
        if (feed->retry)
            result = pthread_cond_timedwait(&feed->some, &feed->lock, &until);
        else
            pthread_cond_wait(&feed->some, &feed->lock);
    }
    feed->missed = feed->missed || result == ETIMEDOUT;
    return !feed->quit;
}

static void *run(void *argument)
{
    struct feed *feed = argument;
    struct queue_event *events = mem_alloc(LIMIT_FEED_EVENTS * sizeof *events);
    pthread_mutex_lock(&feed->lock);
    while (wait_for_some(feed)) {
        struct queue_event *told = feed->events;
        size_t count = feed->event_count;
        bool missed = feed->missed;
        struct feed_listener *added = feed->added, *cancelled = feed->cancelled;
        feed->events = events;
        feed->event_count = 0;
        feed->missed = false;
        feed->added = feed->cancelled = NULL;
        events = told;
        pthread_mutex_unlock(&feed->lock);
        handle_lists(feed, added, cancelled);
        handle_events(feed, events, count);
        if (missed)
            wake_all(feed);
        pthread_mutex_lock(&feed->lock);
    }
    pthread_mutex_unlock(&feed->lock);
    mem_free(events);
    return NULL;
}

/* ----------------------------------------------------------------------------------------- life */

int feed_open(struct feed **out, struct queue *queue, struct err *err)
{
    struct feed *feed = mem_alloc(sizeof *feed);
    feed->watcher.on_events = tell;
    feed->queue = queue;
    feed->events = mem_alloc(LIMIT_FEED_EVENTS * sizeof *feed->events);
    pthread_mutex_init(&feed->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&feed->some, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int code = pthread_create(&feed->thread, NULL, run, feed);
    if (code != 0) {
        pthread_cond_destroy(&feed->some);
        pthread_mutex_destroy(&feed->lock);
        mem_free(feed->events);
        mem_free(feed);
        return err_sys(err, code, "cannot start the thread that watches the queue");
    }
    queue_watch(queue, &feed->watcher);
    *out = feed;
    return 0;
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void drop_all(struct feed *feed)
{
    struct channel *channel, *next_channel;
    struct feed_listener *listener, *next;
    HASH_ITER (hh, feed->channels, channel, next_channel) {
        HASH_DEL(feed->channels, channel);
        DL_FOREACH_SAFE (channel->listeners, listener, next) {
            listener->drop(listener);
        }
        mem_free(channel);
    }
    for (listener = feed->added; listener; listener = next) {
        next = listener->added_next;
        listener->drop(listener);
    }
}

void feed_stop(struct feed *feed)
{
    if (!feed)
        return;
    queue_unwatch(feed->queue, &feed->watcher);
    pthread_mutex_lock(&feed->lock);
    feed->quit = true;
    pthread_cond_signal(&feed->some);
    pthread_mutex_unlock(&feed->lock);
    pthread_join(feed->thread, NULL);
    drop_all(feed);
}

void feed_free(struct feed *feed)
{
    if (!feed)
        return;
    pthread_cond_destroy(&feed->some);
    pthread_mutex_destroy(&feed->lock);
    mem_free(feed->events);
    mem_free(feed);
}
