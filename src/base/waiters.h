/* waiters: those that wait for the same thing, in the order in which they came. One that wants much
 * would never get it if others could overtake it.
 *
 * A queue is a pointer to the first of them, NULL if there is none. Ownership: each waiter is its
 * caller's, from join to leave. Threads: under the caller's lock.
 */
#pragma once

struct waiter {
    struct waiter *next;
};

void waiters_join(struct waiter **queue, struct waiter *self);
void waiters_leave(struct waiter **queue, const struct waiter *self);
