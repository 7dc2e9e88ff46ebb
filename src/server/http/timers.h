/* http_timers: deadlines that are moved far more often than they pass.
 *
 * A heap whose keys may be too early: moving a deadline later only stores it, and the heap finds
 * out when the old one comes up. So a keep-alive connection, which moves its deadline several
 * times per request, takes no lock for it.
 *
 * Ownership: a timer is its user's storage, and must be removed before that is freed. Threads:
 * http_timers_set from any, for one timer from one at a time; the others from any. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_TIMER_NEVER INT64_MAX

struct http_timer {
    _Atomic int64_t due_ns;
    _Atomic int64_t queued_ns; /* its key in the heap; HTTP_TIMER_NEVER: not in the heap */
    size_t place;
};

struct http_timers {
    pthread_mutex_t lock;
    struct http_timer **heap;
    size_t count, capacity;
};

void http_timers_init(struct http_timers *timers);
void http_timers_deinit(struct http_timers *timers);

void http_timer_init(struct http_timer *timer);
/* True: it became the earliest of all, so a thread that sleeps until then must be woken. */
bool http_timers_set(struct http_timers *timers, struct http_timer *timer, int64_t due_ns);
void http_timers_remove(struct http_timers *timers, struct http_timer *timer);
/* Removes one that is due at `now_ns`; or NULL, and *next_ns is when to call again at the
 * latest. */
struct http_timer *http_timers_pop(struct http_timers *timers, int64_t now_ns, int64_t *next_ns);
