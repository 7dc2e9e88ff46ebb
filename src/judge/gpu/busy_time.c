#include "judge/gpu/busy_time.h"

#include "base/clock.h"

void busy_time_init(struct busy_time *busy)
{
    *busy = (struct busy_time){.users = 0};
    pthread_mutex_init(&busy->lock, NULL);
}

void busy_time_deinit(struct busy_time *busy)
{
    pthread_mutex_destroy(&busy->lock);
}

/* With the lock. */
static void add_up(struct busy_time *busy)
{
    int64_t now_ns = clock_now_ns();
    int64_t spent_ns = busy->users > 0 ? now_ns - busy->since_ns : 0;
    busy->busy_ns += spent_ns;
    busy->alone_ns += busy->alone ? spent_ns : 0;
    busy->since_ns = now_ns;
}

void busy_time_begin(struct busy_time *busy, bool alone)
{
    pthread_mutex_lock(&busy->lock);
    add_up(busy);
    busy->users++;
    busy->alone = alone;
    pthread_mutex_unlock(&busy->lock);
}

void busy_time_end(struct busy_time *busy)
{
    pthread_mutex_lock(&busy->lock);
    add_up(busy);
    busy->users--;
    busy->alone = false; /* the exclusive user is gone, or it was shared */
    pthread_mutex_unlock(&busy->lock);
}

struct busy_times busy_time_read(struct busy_time *busy)
{
    pthread_mutex_lock(&busy->lock);
    add_up(busy);
    struct busy_times times = {.busy_s = (double)busy->busy_ns * 1e-9,
                               .alone_s = (double)busy->alone_ns * 1e-9};
    pthread_mutex_unlock(&busy->lock);
    return times;
}
