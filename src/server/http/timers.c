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

static void heap_put(struct http_timers *timers, size_t place, struct http_timer *timer)
{
    timers->heap[place] = timer;
    timer->place = place;
}

/* Moves a timer up or down from the place where it changed. */
static void heap_settle(struct http_timers *timers, size_t place)
{
    struct http_timer *timer = timers->heap[place];
    while (place > 0 && timers->heap[(place - 1) / 2]->queued_ns > timer->queued_ns) {
        heap_put(timers, place, timers->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * place + 1;
        if (child + 1 < timers->count &&
            timers->heap[child + 1]->queued_ns < timers->heap[child]->queued_ns)
            child++;
        if (child >= timers->count || timers->heap[child]->queued_ns >= timer->queued_ns)
            break;
        heap_put(timers, place, timers->heap[child]);
        place = child;
    }
    heap_put(timers, place, timer);
}

static void heap_insert(struct http_timers *timers, struct http_timer *timer, int64_t at_ns)
{
    if (timers->count == timers->capacity) {
        timers->capacity = timers->capacity ? 2 * timers->capacity : 64;
        timers->heap = mem_resize(timers->heap, timers->capacity * sizeof(struct http_timer *));
    }
    atomic_store(&timer->queued_ns, at_ns);
    heap_put(timers, timers->count++, timer);
    heap_settle(timers, timer->place);
}

static void heap_remove(struct http_timers *timers, struct http_timer *timer)
{
    size_t place = timer->place;
    atomic_store(&timer->queued_ns, HTTP_TIMER_NEVER);
    struct http_timer *last = timers->heap[--timers->count];
    if (last == timer)
        return;
    heap_put(timers, place, last);
    heap_settle(timers, place);
}

/* Stores due_ns before it reads queued_ns, as http_timers_pop stores queued_ns before it reads
 * due_ns: at least one of the two sees the other's change. */
bool http_timers_set(struct http_timers *timers, struct http_timer *timer, int64_t due_ns)
{
    atomic_store(&timer->due_ns, due_ns);
    if (due_ns >= atomic_load(&timer->queued_ns))
        return false;
    pthread_mutex_lock(&timers->lock);
    int64_t queued_ns = atomic_load(&timer->queued_ns);
    if (due_ns < queued_ns && queued_ns == HTTP_TIMER_NEVER) {
        heap_insert(timers, timer, due_ns);
    } else if (due_ns < queued_ns) {
        atomic_store(&timer->queued_ns, due_ns);
        heap_settle(timers, timer->place);
    }
    bool first = timers->heap[0] == timer;
    pthread_mutex_unlock(&timers->lock);
    return first;
}

void http_timers_remove(struct http_timers *timers, struct http_timer *timer)
{
    pthread_mutex_lock(&timers->lock);
    if (atomic_load(&timer->queued_ns) != HTTP_TIMER_NEVER)
        heap_remove(timers, timer);
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
        heap_remove(timers, first);
        int64_t due_ns = atomic_load(&first->due_ns);
        if (due_ns <= now_ns)
            found = first;
        else if (due_ns != HTTP_TIMER_NEVER)
            heap_insert(timers, first, due_ns);
    }
    pthread_mutex_unlock(&timers->lock);
    return found;
}
