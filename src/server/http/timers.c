#include "server/http/timers.h"

#include "base/mem.h"

void http_timers_init(struct http_timers *timers)
{
    *timers = (struct http_timers){0};
    pthread_mutex_init(&timers->lock, NULL);
}

void http_timers_deinit(struct http_timers *timers)
{
    pthread_mutex_destroy(&timers->lock);
    mem_free(timers->heap);
}

void http_timer_init(struct http_timer *timer)
{
    atomic_init(&timer->due_ns, HTTP_TIMER_NEVER);
    atomic_init(&timer->queued_ns, HTTP_TIMER_NEVER);
    timer->place = 0;
}

static void put(struct http_timers *timers, size_t place, struct http_timer *timer)
{
    timers->heap[place] = timer;
    timer->place = place;
}

/* Up, or down, from a place whose timer has changed. */
static void settle(struct http_timers *timers, size_t place)
{
    struct http_timer *timer = timers->heap[place];
    while (place > 0 && timers->heap[(place - 1) / 2]->queued_ns > timer->queued_ns) {
        put(timers, place, timers->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * place + 1;
        if (child + 1 < timers->count &&
            timers->heap[child + 1]->queued_ns < timers->heap[child]->queued_ns)
            child++;
        if (child >= timers->count || timers->heap[child]->queued_ns >= timer->queued_ns)
            break;
        put(timers, place, timers->heap[child]);
        place = child;
    }
    put(timers, place, timer);
}

static void insert(struct http_timers *timers, struct http_timer *timer, int64_t at_ns)
{
    if (timers->count == timers->capacity) {
        timers->capacity = timers->capacity ? 2 * timers->capacity : 64;
        timers->heap = mem_resize(timers->heap, timers->capacity * sizeof(struct http_timer *));
    }
    atomic_store(&timer->queued_ns, at_ns);
    put(timers, timers->count++, timer);
    settle(timers, timer->place);
}

static void take_out(struct http_timers *timers, struct http_timer *timer)
{
    size_t place = timer->place;
    atomic_store(&timer->queued_ns, HTTP_TIMER_NEVER);
    struct http_timer *last = timers->heap[--timers->count];
    if (last == timer)
        return;
    put(timers, place, last);
    settle(timers, place);
}

/* The store comes before the look at queued_ns, here as in http_timers_pop, which stores queued_ns
 * before it looks at due_ns: one of the two sees what the other did. */
bool http_timers_set(struct http_timers *timers, struct http_timer *timer, int64_t due_ns)
{
    atomic_store(&timer->due_ns, due_ns);
    if (due_ns >= atomic_load(&timer->queued_ns))
        return false;
    pthread_mutex_lock(&timers->lock);
    int64_t queued_ns = atomic_load(&timer->queued_ns);
    if (due_ns < queued_ns && queued_ns == HTTP_TIMER_NEVER) {
        insert(timers, timer, due_ns);
    } else if (due_ns < queued_ns) {
        atomic_store(&timer->queued_ns, due_ns);
        settle(timers, timer->place);
    }
    bool first = timers->heap[0] == timer;
    pthread_mutex_unlock(&timers->lock);
    return first;
}

void http_timers_remove(struct http_timers *timers, struct http_timer *timer)
{
    pthread_mutex_lock(&timers->lock);
    if (atomic_load(&timer->queued_ns) != HTTP_TIMER_NEVER)
        take_out(timers, timer);
    atomic_store(&timer->due_ns, HTTP_TIMER_NEVER);
    pthread_mutex_unlock(&timers->lock);
}

struct http_timer *http_timers_pop(struct http_timers *timers, int64_t now_ns, int64_t *next_ns)
{
    struct http_timer *found = NULL;
    *next_ns = HTTP_TIMER_NEVER;
    pthread_mutex_lock(&timers->lock);
    while (timers->count > 0 && !found) {
        struct http_timer *first = timers->heap[0];
        int64_t queued_ns = atomic_load(&first->queued_ns);
        if (queued_ns > now_ns) {
            *next_ns = queued_ns;
            break;
        }
        take_out(timers, first);
        int64_t due_ns = atomic_load(&first->due_ns);
        if (due_ns <= now_ns)
            found = first;
        else if (due_ns != HTTP_TIMER_NEVER)
            insert(timers, first, due_ns);
    }
    pthread_mutex_unlock(&timers->lock);
    return found;
}
