/* task_pool: threads for work that may block; started on demand up to a bound, and kept.
 *
 * Work runs in the order of submission, also work that is pending when the pool closes.
 *
 * Ownership: a struct pool_task is its maker's storage, and is returned to it when `run` is
 * called. Threads: any thread may call task_pool_submit, which never waits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct task_pool;

struct pool_task {
    void (*run)(struct pool_task *work);
    struct pool_task *next; /* the pool's */
};

/* The object whose member `work` is. */
#define TASK_CONTAINER(work, type, member) ((type *)(void *)((char *)(work)-offsetof(type, member)))

struct task_pool *task_pool_new(size_t threads_max, size_t queue_max);
/* False: the queue is full, or no thread can be started; `run` is not called. */
bool task_pool_submit(struct task_pool *pool, struct pool_task *work);
/* Waits until all work is done. NULL is fine. */
void task_pool_free(struct task_pool *pool);
