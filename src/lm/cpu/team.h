/* team: one piece of work on several threads.
 *
 * Work is cut into tasks by its sizes and the backend's number of threads, never by who runs what:
 * a task writes what no other task of its run touches, so results do not depend on the system's
 * scheduling.
 *
 * Whoever calls team_run takes tasks like the others, and waits in the end only for those that
 * somebody has begun: on a busy machine, threads that get no processor hold nobody up. (OpenMP's
 * teams wait for every member, dozens of times for each decoded token.) Threads without work look
 * out for some for a moment, then sleep.
 *
 * Threads: one at a time calls team_run.
 */
#ifndef WARPGYM_LM_CPU_TEAM_H
#define WARPGYM_LM_CPU_TEAM_H

#include <stddef.h>

struct team;

/* `thread` is below the number of threads; a task has that thread's scratch for itself. */
typedef void team_task(const void *work, size_t task, size_t thread);

/* `threads` with the caller; fewer where the system grants no more. */
struct team *team_new(size_t threads);
void team_free(struct team *team);

/* Runs tasks 0 to count - 1; without a team (NULL) on the caller's thread. */
void team_run(struct team *team, size_t count, team_task *task, const void *work);

/* How many tasks `amount` elements of simple work are worth, a few for each thread at most:
 * handing one over costs as much as some thousands of them. */
size_t team_parts(size_t threads, size_t amount);

/* Part `part` of `parts` of [0, count), cut at multiples of `unit`. */
struct team_range {
    size_t first, count;
};
struct team_range team_cut(size_t count, size_t unit, size_t parts, size_t part);

#endif
