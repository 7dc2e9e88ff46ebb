/* processor_time: how long a process has had processors, as the kernel counts it.
 *
 * In nanoseconds, of all its threads, those that have ended too; -1 if the kernel does not say.
 * Threads: any.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Without what threads that are running now have used since the last tick: 4 ms and more, each. */
int64_t processor_time_ns(pid_t pid);
/* All of it, of a process that has been reported as stopped: its last threads may have yet to leave
 * their processors, for which this waits. Some 10 us a thread. */
int64_t processor_time_stopped_ns(pid_t pid);

/* What a thread has had of processors, and for how long it wanted one and had none. */
struct processor_use {
    int64_t used_ns, delayed_ns;
};
/* Of the first thread; of all, where those that have ended count for what they used and not for
 * their delays. Zeros if the kernel does not say. */
struct processor_use processor_time_first(pid_t pid);
struct processor_use processor_time_threads(pid_t pid);
/* The same of a process and all of its descendants, together with what those used that have ended
 * and were waited for. Some 60 us a process. */
struct processor_use processor_time_tree(pid_t pid);

/* For how much of `elapsed_ns` between two looks at a tree other processes kept the processors from
 * it. Where its own processes compete with each other, none of it is the others' doing. The kernel
 * counts a wait when it is over: *idle_ns, at first 0, is what is not explained yet of the looks
 * before, of which the last two seconds count. */
int64_t processor_time_withheld(struct processor_use before, struct processor_use now,
                                int64_t elapsed_ns, int64_t *idle_ns);
