/* pool: threads for what may block; they appear as work comes, up to a bound, and stay.
 *
 * What is pushed is done, in the order of its coming, even when the pool is ended meanwhile.
 *
 * Ownership: a struct pool_work is its maker's storage, and his again when `run` is called.
 * Threads: pool_push from any of them; it never waits.
 */
#ifndef WARPGYM_SERVER_POOL_H
#define WARPGYM_SERVER_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct pool;

struct pool_work {
    void (*run)(struct pool_work *work);
    struct pool_work *next; /* the pool's */
};

/* The whole of which `work` is the member of that name. */
#define POOL_WHOLE(work, type, member) ((type *)(void *)((char *)(work)-offsetof(type, member)))

struct pool *pool_new(size_t threads_max, size_t queue_max);
/* False: the queue is full, or no thread can be had: `run` is not called. */
bool pool_push(struct pool *pool, struct pool_work *work);
/* Waits for all of it. NULL is fine. */
void pool_free(struct pool *pool);

#endif
