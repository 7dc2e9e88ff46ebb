#include "server/job_events.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <uthash.h>
#include <utlist.h>

struct channel { /* all listeners of one key */
    char key[JOB_EVENTS_KEY_BYTES];
    struct job_listener *listeners;
    UT_hash_handle hh;
};

struct job_events {
    struct queue_watcher watcher; /* first */
    struct queue *queue;
    pthread_t thread;
    struct channel *channels; /* used by the thread alone */
    bool retry;               /* likewise: an update failed */

    pthread_mutex_t lock; /* all below */
    pthread_cond_t some;
    struct queue_event *events;
    size_t event_count;
    size_t listener_count; /* added and not yet released */
    bool missed, quit;
    struct job_listener *added, *cancelled;
};

void job_events_key(char key[JOB_EVENTS_KEY_BYTES], enum job_events_of what, const char *id)
{
    snprintf(key, JOB_EVENTS_KEY_BYTES, "%c%s", (char)what, id);
}

static void on_queue_events(struct queue_watcher *watcher, const struct queue_event *events,
                            size_t count)
{
    struct job_events *job_events = (struct job_events *)watcher;
    pthread_mutex_lock(&job_events->lock);
    if (job_events->listener_count > 0) {
        if (count == 0 || job_events->event_count + count > LIMIT_FEED_EVENTS) {
            job_events->missed = true;
        } else {
            memcpy(job_events->events + job_events->event_count, events, count * sizeof *events);
            job_events->event_count += count;
        }
        pthread_cond_signal(&job_events->some);
    }
    pthread_mutex_unlock(&job_events->lock);
}

/* With the lock held. */
static void push_cancelled(struct job_events *job_events, struct job_listener *listener)
{
    listener->cancelled_next = job_events->cancelled;
    job_events->cancelled = listener;
}

void job_events_add(struct job_events *job_events, struct job_listener *listener)
{
    pthread_mutex_lock(&job_events->lock);
    listener->added = true;
    job_events->listener_count++;
    listener->added_next = job_events->added;
    job_events->added = listener;
    if (listener->cancelled)
        push_cancelled(job_events, listener);
    pthread_cond_signal(&job_events->some);
    pthread_mutex_unlock(&job_events->lock);
}

void job_events_cancel(struct job_events *job_events, struct job_listener *listener)
{
    pthread_mutex_lock(&job_events->lock);
    if (!listener->cancelled && listener->added)
        push_cancelled(job_events, listener);
    listener->cancelled = true;
    pthread_cond_signal(&job_events->some);
    pthread_mutex_unlock(&job_events->lock);
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void channel_add(struct job_events *job_events, struct job_listener *listener)
{
    struct channel *channel;
    HASH_FIND_STR(job_events->channels, listener->key, channel);
    if (!channel) {
        channel = mem_alloc(sizeof *channel);
        snprintf(channel->key, sizeof channel->key, "%s", listener->key);
        HASH_ADD_STR(job_events->channels, key, channel);
    }
    DL_APPEND(channel->listeners, listener);
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void channel_remove(struct job_events *job_events, struct job_listener *listener)
{
    struct channel *channel;
    HASH_FIND_STR(job_events->channels, listener->key, channel);
    if (!channel)
        return;
    DL_DELETE(channel->listeners, listener);
    if (channel->listeners)
        return;
    HASH_DEL(job_events->channels, channel);
    mem_free(channel);
}

static void listener_release(struct job_events *job_events, struct job_listener *listener)
{
    pthread_mutex_lock(&job_events->lock);
    job_events->listener_count--;
    pthread_mutex_unlock(&job_events->lock);
    listener->release(listener);
}

/* Updates a listener that is in no channel; then adds it to one, or releases it. */
static void listener_update(struct job_events *job_events, struct job_listener *listener,
                            const struct queue_event *event)
{
    enum job_listener_state result = listener->update(listener, event);
    if (result == JOB_LISTENER_DONE) {
        pthread_mutex_lock(&job_events->lock);
        bool elsewhere = listener->cancelled; /* it is in that list, which releases it */
        listener->cancelled = true;
        pthread_mutex_unlock(&job_events->lock);
        if (!elsewhere) {
            listener_release(job_events, listener);
            return;
        }
    }
    job_events->retry = job_events->retry || result == JOB_LISTENER_RETRY;
    channel_add(job_events, listener);
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void channel_update(struct job_events *job_events, enum job_events_of what, const char *id,
                           const struct queue_event *event)
{
    char key[JOB_EVENTS_KEY_BYTES];
    struct channel *channel;
    job_events_key(key, what, id);
    HASH_FIND_STR(job_events->channels, key, channel);
    if (!channel)
        return;
    /* Listeners that return to the channel must not be visited again. */
    struct job_listener *listeners = channel->listeners, *listener, *next;
    HASH_DEL(job_events->channels, channel);
    mem_free(channel);
    DL_FOREACH_SAFE (listeners, listener, next) {
        listener_update(job_events, listener, event);
    }
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void all_channels_update(struct job_events *job_events)
{
    struct channel *channels = job_events->channels, *channel, *next_channel;
    struct job_listener *listener, *next;
    job_events->channels = NULL;
    job_events->retry = false;
    HASH_ITER (hh, channels, channel, next_channel) {
        HASH_DEL(channels, channel);
        DL_FOREACH_SAFE (channel->listeners, listener, next) {
            /* A queue that fails for one listener fails for all: do not try each. */
            if (job_events->retry)
                channel_add(job_events, listener);
            else
                listener_update(job_events, listener, NULL);
        }
        mem_free(channel);
    }
}

static void handle_events(struct job_events *job_events, const struct queue_event *events,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        channel_update(job_events, JOB_EVENTS_OF_JOB, events[i].id, &events[i]);
        if (events[i].batch[0])
            channel_update(job_events, JOB_EVENTS_OF_BATCH, events[i].batch, &events[i]);
        channel_update(job_events, JOB_EVENTS_OF_ALL, "", &events[i]);
    }
}

static void handle_lists(struct job_events *job_events, struct job_listener *added,
                         struct job_listener *cancelled)
{
    struct job_listener *next;
    for (; added; added = next) {
        next = added->added_next;
        pthread_mutex_lock(&job_events->lock);
        bool unwanted = added->cancelled;
        pthread_mutex_unlock(&job_events->lock);
        if (job_events->retry || unwanted)
            channel_add(job_events, added);
        else
            listener_update(job_events, added, NULL);
    }
    for (; cancelled; cancelled = next) {
        next = cancelled->cancelled_next;
        channel_remove(job_events, cancelled);
        listener_release(job_events, cancelled);
    }
}

/* With the lock. False: stopping. */
static bool wait_for_input(struct job_events *job_events)
{
    int64_t until_ns = clock_now_ns() + (int64_t)JOB_EVENTS_RETRY_MS * 1000000;
    struct timespec until = clock_timespec(until_ns);
    int result = 0;
    while (!job_events->quit && job_events->event_count == 0 && !job_events->missed &&
           !job_events->added && !job_events->cancelled && result != ETIMEDOUT) {
        if (job_events->retry)
            result = pthread_cond_timedwait(&job_events->some, &job_events->lock, &until);
        else
            pthread_cond_wait(&job_events->some, &job_events->lock);
    }
    job_events->missed = job_events->missed || result == ETIMEDOUT;
    return !job_events->quit;
}

static void *event_thread_main(void *argument)
{
    struct job_events *job_events = argument;
    struct queue_event *events = mem_alloc(LIMIT_FEED_EVENTS * sizeof *events);
    pthread_mutex_lock(&job_events->lock);
    while (wait_for_input(job_events)) {
        struct queue_event *taken = job_events->events;
        size_t count = job_events->event_count;
        bool missed = job_events->missed;
        struct job_listener *added = job_events->added, *cancelled = job_events->cancelled;
        job_events->events = events;
        job_events->event_count = 0;
        job_events->missed = false;
        job_events->added = job_events->cancelled = NULL;
        events = taken;
        pthread_mutex_unlock(&job_events->lock);
        handle_lists(job_events, added, cancelled);
        handle_events(job_events, events, count);
        if (missed)
            all_channels_update(job_events);
        pthread_mutex_lock(&job_events->lock);
    }
    pthread_mutex_unlock(&job_events->lock);
    mem_free(events);
    return NULL;
}

int job_events_open(struct job_events **out, struct queue *queue, struct err *err)
{
    struct job_events *job_events = mem_alloc(sizeof *job_events);
    job_events->watcher.on_events = on_queue_events;
    job_events->queue = queue;
    job_events->events = mem_alloc(LIMIT_FEED_EVENTS * sizeof *job_events->events);
    pthread_mutex_init(&job_events->lock, NULL);
    clock_condition_init(&job_events->some);
    int code = pthread_create(&job_events->thread, NULL, event_thread_main, job_events);
    if (code != 0) {
        pthread_cond_destroy(&job_events->some);
        pthread_mutex_destroy(&job_events->lock);
        mem_free(job_events->events);
        mem_free(job_events);
        return err_sys(err, code, "cannot start the thread that watches the queue");
    }
    queue_watch(queue, &job_events->watcher);
    *out = job_events;
    return 0;
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void all_listeners_release(struct job_events *job_events)
{
    struct channel *channel, *next_channel;
    struct job_listener *listener, *next;
    HASH_ITER (hh, job_events->channels, channel, next_channel) {
        HASH_DEL(job_events->channels, channel);
        DL_FOREACH_SAFE (channel->listeners, listener, next) {
            listener->release(listener);
        }
        mem_free(channel);
    }
    for (listener = job_events->added; listener; listener = next) {
        next = listener->added_next;
        listener->release(listener);
    }
}

void job_events_stop(struct job_events *job_events)
{
    if (!job_events)
        return;
    queue_unwatch(job_events->queue, &job_events->watcher);
    pthread_mutex_lock(&job_events->lock);
    job_events->quit = true;
    pthread_cond_signal(&job_events->some);
    pthread_mutex_unlock(&job_events->lock);
    pthread_join(job_events->thread, NULL);
    all_listeners_release(job_events);
}

void job_events_free(struct job_events *job_events)
{
    if (!job_events)
        return;
    pthread_cond_destroy(&job_events->some);
    pthread_mutex_destroy(&job_events->lock);
    mem_free(job_events->events);
    mem_free(job_events);
}
