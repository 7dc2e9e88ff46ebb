/* job_events: listeners for changes of jobs, without a thread for each.
 *
 * A listener names a job, a batch or everything. One thread reads the queue's events and calls
 * the listeners concerned. Only this thread has the table of listeners, so no lock is held
 * during calls.
 *
 *   queue's thread ──events──►┐
 *   handlers ──add───────────►│ inbox ──► event thread ──► update ──► answers, or keeps waiting
 *   HTTP's ──cancel──────────►┘
 *
 * `update` is called right after a listener was added, which covers everything before, and for
 * each later event. After missed events it is called for all listeners.
 *
 * Ownership: a listener's storage is its maker's; from job_events_add on it belongs to
 * job_events, until `release` is called, once, on the event thread. Errors: none; an update that
 * cannot read the queue says so and is repeated after JOB_EVENTS_RETRY_MS. */
#pragma once

#include "base/err.h"
#include "queue/queue.h"

#include <stdbool.h>

#define JOB_EVENTS_RETRY_MS 1000
#define JOB_EVENTS_KEY_BYTES (QUEUE_ID_BYTES + 1)

struct job_events;

enum job_listener_state {
    JOB_LISTENER_KEEP, /* keep it; its key may have changed */
    JOB_LISTENER_DONE, /* release it */
    JOB_LISTENER_RETRY /* the queue could not be read: retry soon */
};

struct job_listener {
    char key[JOB_EVENTS_KEY_BYTES]; /* job_events_key() */
    /* `event`: what happened, or NULL: unknown, read the state. On the event thread. */
    enum job_listener_state (*update)(struct job_listener *listener,
                                      const struct queue_event *event);
    void (*release)(struct job_listener *listener);

    /* Private to job_events. */
    bool added, cancelled;
    struct job_listener *next, *prev; /* of its key's */
    struct job_listener *added_next, *cancelled_next;
};

enum job_events_of {
    JOB_EVENTS_OF_JOB = 'j',
    JOB_EVENTS_OF_BATCH = 'b',
    JOB_EVENTS_OF_ALL = '*', /* with the id "" */
};

void job_events_key(char key[JOB_EVENTS_KEY_BYTES], enum job_events_of what, const char *id);

NODISCARD int job_events_open(struct job_events **out, struct queue *queue, struct err *err);
/* Releases all listeners; after this job_events_add must not be called, job_events_cancel may. */
void job_events_stop(struct job_events *job_events);
/* After job_events_stop. NULL is fine, for both. */
void job_events_free(struct job_events *job_events);

void job_events_add(struct job_events *job_events, struct job_listener *listener);
/* From any thread, any number of times, even before job_events_add: the listener is released,
 * perhaps after one more update. Not after `release`. */
void job_events_cancel(struct job_events *job_events, struct job_listener *listener);
