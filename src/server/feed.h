/* feed: whoever waits for changes of the queue, without a thread of its own.
 *
 * A listener names a job, a batch or everything. One thread reads what the queue tells and calls
 * the listeners that it concerns; it is also the only one that knows which listeners there are, so
 * that nothing is locked while they look.
 *
 *   queue's thread ──events──►┐
 *   handlers ──feed_add──────►│ inbox ──► the feed's thread ──► look ──► answers, or waits on
 *   HTTP's ──feed_cancel─────►┘
 *
 * A listener is looked at once right after it was added: whatever happened before that is seen
 * then, and everything later is told. Where events were missed, all listeners are looked at.
 *
 * Ownership: a listener's storage is its maker's; from feed_add on the feed has it until it calls
 * `drop`, once, on its thread. Errors: none; a look that cannot read the queue says so and is
 * repeated after FEED_RETRY_MS.
 */
#ifndef WARPGYM_SERVER_FEED_H
#define WARPGYM_SERVER_FEED_H

#include "base/err.h"
#include "queue/queue.h"

#include <stdbool.h>

#define FEED_RETRY_MS 1000
#define FEED_KEY_BYTES (QUEUE_ID_BYTES + 1)

struct feed;

enum feed_look {
    FEED_WAIT, /* on; its key may be another one now */
    FEED_OVER, /* drop it */
    FEED_AGAIN /* the queue could not be read: look again soon */
};

struct feed_listener {
    char key[FEED_KEY_BYTES]; /* feed_key_* */
    /* `event`: what happened, or NULL: find out. On the feed's thread. */
    enum feed_look (*look)(struct feed_listener *listener, const struct queue_event *event);
    void (*drop)(struct feed_listener *listener);

    /* The feed's. */
    bool added, cancelled;
    struct feed_listener *next, *prev; /* of its key's */
    struct feed_listener *added_next, *cancelled_next;
};

void feed_key_job(char key[FEED_KEY_BYTES], const char *id);
void feed_key_batch(char key[FEED_KEY_BYTES], const char *id);
void feed_key_all(char key[FEED_KEY_BYTES]);

NODISCARD int feed_open(struct feed **out, struct queue *queue, struct err *err);
/* Drops what is left; feed_add must not be called from here on, feed_cancel may. */
void feed_stop(struct feed *feed);
/* After feed_stop. NULL is fine, for both. */
void feed_free(struct feed *feed);

void feed_add(struct feed *feed, struct feed_listener *listener);
/* From any thread, any number of times, even before feed_add: it will be dropped, and maybe looked
 * at once more before. Not after `drop`. */
void feed_cancel(struct feed *feed, struct feed_listener *listener);

#endif
