#include "server/http_timers.h"

#include "base/mem.h"

void timers_init(struct timers *timers)
{
    *timers = (struct timers){0};
    pthread_mutex_init(&timers->lock, NULL);
}

void timers_deinit(struct timers *timers)
{
    pthread_mutex_destroy(&timers->lock);
    mem_free(timers->heap);
}

void timer_init(struct timer *timer)
{
    atomic_init(&timer->due_ns, TIMER_NEVER);
    atomic_init(&timer->queued_ns, TIMER_NEVER);
    timer->place = 0;
}

static void put(struct timers *timers, size_t place, struct timer *timer)
{
    timers->heap[place] = timer;
    timer->place = place;
}

/* Up, or down, from a place whose timer has changed. */
static void settle(struct timers *timers, size_t place)
{
    struct timer *timer = timers->heap[place];
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

static void insert(struct timers *timers, struct timer *timer, int64_t at_ns)
{
    if (timers->count == timers->capacity) {
        timers->capacity = timers->capacity ? 2 * timers->capacity : 64;
        timers->heap = mem_resize(timers->heap, timers->capacity * sizeof(struct timer *));
    }
    atomic_store(&timer->queued_ns, at_ns);
    put(timers, timers->count++, timer);
    settle(timers, timer->place);
}

static void take_out(struct timers *timers, struct timer *timer)
{
    size_t place = timer->place;
    atomic_store(&timer->queued_ns, TIMER_NEVER);
    struct timer *last = timers->heap[--timers->count];
    if (last == timer)
        return;
    put(timers, place, last);
    settle(timers, place);
}

/* The store comes before the look at queued_ns, here as in timers_pop, which stores queued_ns before
 * it looks at due_ns: one of the two sees what the other did. */
bool timers_set(struct timers *timers, struct timer *timer, int64_t due_ns)
{
    atomic_store(&timer->due_ns, due_ns);
    if (due_ns >= atomic_load(&timer->queued_ns))
        return false;
    pthread_mutex_lock(&timers->lock);
    int64_t queued_ns = atomic_load(&timer->queued_ns);
    if (due_ns < queued_ns && queued_ns == TIMER_NEVER) {
        insert(timers, timer, due_ns);
    } else if (due_ns < queued_ns) {
        atomic_store(&timer->queued_ns, due_ns);
        settle(timers, timer->place);
    }
    bool first = timers->heap[0] == timer;
    pthread_mutex_unlock(&timers->lock);
    return first;
}

void timers_remove(struct timers *timers, struct timer *timer)
{
    pthread_mutex_lock(&timers->lock);
    if (atomic_load(&timer->queued_ns) != TIMER_NEVER)
        take_out(timers, timer);
    atomic_store(&timer->due_ns, TIMER_NEVER);
    pthread_mutex_unlock(&timers->lock);
}

struct timer *timers_pop(struct timers *timers, int64_t now_ns, int64_t *next_ns)
{
    struct timer *found = NULL;
    *next_ns = TIMER_NEVER;
    pthread_mutex_lock(&timers->lock);
    while (timers->count > 0 && !found) {
        struct timer *first = timers->heap[0];
        int64_t queued_ns = atomic_load(&first->queued_ns);
        if (queued_ns > now_ns) {
            *next_ns = queued_ns;
            break;
        }
        take_out(timers, first);
        int64_t due_ns = atomic_load(&first->due_ns);
        if (due_ns <= now_ns)
            found = first;
        else if (due_ns != TIMER_NEVER)
            insert(timers, first, due_ns);
    }
    pthread_mutex_unlock(&timers->lock);
    return found;
}
