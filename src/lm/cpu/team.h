/* team: one piece of work on several threads.
 *
 * Work is cut into tasks by its sizes and the backend's number of threads, never by who runs what:
 * a task writes what no other task of its run touches, so results do not depend on the
 * system's scheduling. Only team.c is compiled with OpenMP, where compiler and sanitizer have it; elsewhere the
 * same tasks run one behind the other.
 */
#ifndef WARPGYM_LM_CPU_TEAM_H
#define WARPGYM_LM_CPU_TEAM_H

#include <stddef.h>

/* `thread` is below the number of threads; a task has that thread's scratch for itself. */
typedef void team_task(const void *work, size_t task, size_t thread);

/* Runs tasks 0 to count - 1 on up to `threads` threads, each as soon as one is free. */
void team_run(size_t threads, size_t count, team_task *task, const void *work);

/* How many tasks `amount` elements of simple work are worth: waking a thread costs as much as
 * some ten thousand of them. */
size_t team_parts(size_t threads, size_t amount);

/* Part `part` of `parts` of [0, count), cut at multiples of `unit`. */
struct team_range {
    size_t first, count;
};
struct team_range team_cut(size_t count, size_t unit, size_t parts, size_t part);

#endif
