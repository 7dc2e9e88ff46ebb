/* seat: which processors a judge and the children that it calls run on.
 *
 * While a child is called, its judge and its main thread share one processor: the judge thaws it and
 * blocks, which hands the processor over; the child sends DONE and blocks, which hands it back. No
 * idle processor has to be woken, nobody spins, nothing migrates, and what the judge has just
 * written lies in the caches that the child will use. Its other threads get the other processors,
 * one each, as far as there are any: threads that were stopped together would otherwise start on
 * whatever processor they were stopped on, and a scheduler needs milliseconds to part them. The
 * main thread is a batch process, so that it does not push its judge away when it is thawed
 * (sandbox/server.c); the others need no such manners.
 *
 *   cpu_affinity_pin ─┬► cpu_affinity_place ─ thaw ─ cpu_affinity_release_main ─ … DONE … ─ cpu_affinity_recall_main ─ freeze ─┬► cpu_affinity_unpin
 *              └──────────────────────── for every call ───────────────────────◄────┘
 *
 * From cpu_affinity_release_main to cpu_affinity_recall_main the main thread may go where it likes, and so may threads that it
 * starts. What a child does to its own affinity is its own affair.
 *
 * Nothing of this is on the clock but cpu_affinity_release_main's one system call, which is part of the hand-over
 * that timing.c takes off.
 */
#ifndef WARPGYM_JUDGE_PROCESS_CPU_AFFINITY_H
#define WARPGYM_JUDGE_PROCESS_CPU_AFFINITY_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

struct cpu_affinity {
    cpu_set_t usable; /* of the judging thread before it sat down */
    int processor;    /* of judge and main thread */
};

/* The calling thread, which judges, sits down on the place-th processor that it may use (counted
 * from 0, around and around) and stays there until it leaves. Its sleeps end on time meanwhile. */
void cpu_affinity_pin(struct cpu_affinity *affinity, int place);
void cpu_affinity_unpin(const struct cpu_affinity *affinity);

/* Places the threads of a frozen process: the main one here, the others elsewhere. */
void cpu_affinity_place(const struct cpu_affinity *affinity, pid_t pid);
/* Right after it was thawed, while it waits for its judge to block: its main thread may move. */
void cpu_affinity_release_main(const struct cpu_affinity *affinity, pid_t pid);
/* Before it is stopped: its main thread stops all others, so it must not wait for a processor on
 * which one of them spins. */
void cpu_affinity_recall_main(const struct cpu_affinity *affinity, pid_t pid);

#endif
