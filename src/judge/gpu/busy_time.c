#include "judge/gpu/busy_time.h"

#include "base/clock.h"

void use_init(struct use *use)
{
    *use = (struct use){.users = 0};
    pthread_mutex_init(&use->lock, NULL);
}

void use_deinit(struct use *use)
{
    pthread_mutex_destroy(&use->lock);
}

/* With the lock. */
static void add_up(struct use *use)
{
    int64_t now_ns = clock_now_ns();
    int64_t spent_ns = use->users > 0 ? now_ns - use->since_ns : 0;
    use->busy_ns += spent_ns;
    use->alone_ns += use->alone ? spent_ns : 0;
    use->since_ns = now_ns;
}

void use_begin(struct use *use, bool alone)
{
    pthread_mutex_lock(&use->lock);
    add_up(use);
    use->users++;
    use->alone = alone;
    pthread_mutex_unlock(&use->lock);
}

void use_end(struct use *use)
{
    pthread_mutex_lock(&use->lock);
    add_up(use);
    use->users--;
    use->alone = false; /* who had it alone is gone, or it was shared */
    pthread_mutex_unlock(&use->lock);
}

struct use_times use_read(struct use *use)
{
    pthread_mutex_lock(&use->lock);
    add_up(use);
    struct use_times times = {.busy_s = (double)use->busy_ns * 1e-9,
                              .alone_s = (double)use->alone_ns * 1e-9};
    pthread_mutex_unlock(&use->lock);
    return times;
}
