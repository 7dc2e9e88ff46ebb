/* sentry: sees the moment at which a side has finished, to the microsecond, without taking a
 * processor from it.
 *
 * A judge that sleeps in poll(2) is woken through an idle processor: 10 to 40 us here, in two
 * modes. One that spins takes a processor from a candidate that wants them all. A sentry is one
 * thread for each processor, under SCHED_IDLE: it runs only where nothing else wants to, gives way
 * at once, keeps that processor out of its idle state (so that the candidate wakes quickly, too),
 * and looks at the channel about once a microsecond. The first to see something wakes the judge.
 * Thaw to DONE of an empty call: median 13 us, quartiles 2 us apart (docs/measurements.md).
 *
 * Threads: one user at a time; the device lock sees to that. sentry_rest lets the threads sleep.
 */
#ifndef WARPGYM_JUDGE_SENTRY_H
#define WARPGYM_JUDGE_SENTRY_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define SENTRY_THREADS_MAX 16

struct sentry;

NODISCARD int sentry_new(struct sentry **sentry, struct err *err);
void sentry_free(struct sentry *sentry);

/* Threads begin to keep processors awake; sleep again. The calling thread, which judges, may be
 * moved between processors until then. */
void sentry_rise(struct sentry *sentry);
void sentry_rest(struct sentry *sentry);

/* Moves the calling thread off the processor on which process `pid` ran last. A process that wakes
 * on its judge's own processor starts half as late as on another one: always another makes the
 * hand-over of every call the same. Not for a process with several threads, which wants both. */
void sentry_step_aside(struct sentry *sentry, int pid);
/* Moves it onto that processor: what it writes now lies in the caches that the process will use, as
 * if the process had written it itself. */
void sentry_step_beside(struct sentry *sentry, int pid);

/* Before the side is thawed: watch this channel for a message or its end. */
void sentry_arm(struct sentry *sentry, int channel);

/* Waits for it, at most until deadline_ns or until *cancelled (may be NULL). True: it came. */
bool sentry_wait(struct sentry *sentry, int64_t deadline_ns, const _Atomic int *cancelled);

#endif
