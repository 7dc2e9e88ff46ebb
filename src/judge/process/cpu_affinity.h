/* cpu_affinity: the processors that a judging thread and the children that it calls run on.
 *
 * While a child is called, its judge and its main thread share one processor: the judge thaws it
 * and blocks, which hands the processor over; the child sends DONE and blocks, which hands it back.
 * No idle processor has to be woken, no thread spins or migrates, and what the judge has just
 * written lies in the caches that the child will use. The child's other threads get the other
 * processors, one each, as far as there are any: threads that were stopped together would otherwise
 * start on the processor they were stopped on, and a scheduler needs milliseconds to part them.
 * Those that have computed most come first; what is left over shares these processors, too, because
 * a thread that spins beside the main one takes its slice of every call. The main thread is a batch
 * process, so that it does not preempt its judge when it is thawed (sandbox/server.c).
 *
 *   pin ─┬► place ─ hurry ─ thaw ─ release_main ─ … DONE … ─ recall_main ─ freeze ─┬► unpin
 *        └──────────────────────────── for every call ◄────────────────────────────┘
 *
 * From release_main to recall_main the main thread may run on any processor, and so may threads
 * that it starts; on a processor of its own it stays. While it makes inputs it is released, too: a
 * library starts its threads then, which would spin on the main thread's processor. What a child
 * does to its own affinity is not undone.
 *
 * Of all this only release_main's one system call is on the clock; it is part of the dispatch
 * overhead that timing.c takes off. Ownership: the caller's storage. Threads: the judging one.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

struct cpu_affinity {
    cpu_set_t usable; /* of the judging thread before it sat down */
    int processor;    /* of judge and main thread */
    bool plain;       /* the judging thread has no policy of its own */
    bool own;         /* the processor is no one else's: main threads stay there */
};

/* The calling thread, which judges, sits down on the place-th processor that it may use (counted
 * from 0, around and around) and stays there until it leaves. Its sleeps end on time meanwhile. */
void cpu_affinity_pin(struct cpu_affinity *affinity, int place);
/* On a processor of its own (gpu_cores.h), which is none of those. */
void cpu_affinity_pin_to(struct cpu_affinity *affinity, int processor);
void cpu_affinity_unpin(const struct cpu_affinity *affinity);

/* Places the threads of a frozen process: the main one here, the others elsewhere. */
void cpu_affinity_place(const struct cpu_affinity *affinity, pid_t pid);
/* Right after it was thawed, while it waits for its judge to block: its main thread may move. */
void cpu_affinity_release_main(const struct cpu_affinity *affinity, pid_t pid);
/* From before the thaw until samples are taken: where the machine permits it, the judge is a
 * real-time thread, so DONE wakes it whatever else wants the processor. On a busy machine a judge
 * that comes late finds the work done that DONE had only claimed. */
void cpu_affinity_hurry(const struct cpu_affinity *affinity, bool on);
/* Before it is stopped: its main thread stops all others, so it must not wait for a processor on
 * which one of them spins. */
void cpu_affinity_recall_main(const struct cpu_affinity *affinity, pid_t pid);
