/* thread_pool: one piece of work on several threads.
 *
 * The sizes of the work and the backend's number of threads determine the tasks, never the
 * scheduling; each task writes memory that no other task of its run touches. So results do not
 * depend on scheduling.
 *
 * The caller of lm_pool_run takes tasks like the workers and finally waits only for tasks that have
 * begun: on a busy machine, threads without a processor delay nothing. (OpenMP's teams wait for
 * every member, dozens of times for each decoded token.) Idle threads poll for a moment, then
 * sleep.
 *
 * Threads: one at a time calls lm_pool_run.
 */
#pragma once

#include <stddef.h>

struct lm_pool;

/* `thread` is below the number of threads; a task has that thread's scratch for itself. */
typedef void lm_pool_task(const void *work, size_t task, size_t thread);

/* `threads` counts the caller; fewer where the system refuses to create more. */
struct lm_pool *lm_pool_new(size_t threads);
void lm_pool_free(struct lm_pool *pool);

/* Runs tasks 0 to count - 1; without a pool (NULL) on the caller's thread. */
void lm_pool_run(struct lm_pool *pool, size_t count, lm_pool_task *task, const void *work);

/* Into how many tasks to cut `amount` elements of simple work, a few for each thread at most:
 * dispatching a task costs as much as some thousands of elements. */
size_t lm_pool_parts(size_t threads, size_t amount);

/* Part `part` of `parts` of [0, count), cut at multiples of `unit`. */
struct lm_pool_range {
    size_t first, count;
};
struct lm_pool_range lm_pool_cut(size_t count, size_t unit, size_t parts, size_t part);
