/* call: the only moment in which a loaded child runs.
 *
 *   judge   freeze ─ clock starts ─ send CALL ─ thaw ┐             ┌ samples ─ clock stops ─ freeze
 *   child                                            └ runs ─ DONE ┘
 *   judge   memory limit ─ pull the mirror ─ samples again: a difference is a late write
 *
 * Invariants:
 *   - The child is frozen whenever the judge writes its inputs or reads its outputs.
 *   - Before CALL is sent nothing waits on its channel, except SEGMENT: a child that speaks between
 *     calls breaks the protocol (CHILD_UNREQUESTED).
 *   - What a child could have arranged to be continued by happens on the clock: CALL is sent there.
 *     Processor time that it used before, since its inputs began to be written, is part of its
 *     time.
 *   - Nothing is allocated, mapped or copied between the clock's start and its end, except the
 *     samples.
 *   - The clock stops when samples of the answer are in the judge's hands, not when the child says
 *     that there is one: what it still does in between is on its own time. How long sampling takes
 *     is kept apart, because much of it is the judge's doing (measure/timing.h).
 *   - After success the child is frozen. After a failure it may run. FAILED is an answer: the child
 *     is CHILD_READY. Without an answer it stays CHILD_BUSY and is not called again, because its
 *     answer may still come.
 *
 * Freezing a process does not stop what it left running on a GPU: the second look at the samples
 * finds work that ends later. Threads: the child's session.
 */
#pragma once

#include "base/err.h"

#include "judge/request/time_limit.h"

#include <stdbool.h>
#include <stdint.h>

struct child;

struct child_call {
    uint32_t mode;  /* enum wire_mode */
    uint32_t calls; /* native, on a GPU: only the first so many slots; 0: all */
    uint64_t noise; /* seeds what a layer itself draws */
    struct time_limit limit;
    double yield_after_ms; /* before it makes way for others, as no fast call does */
    int64_t clock_ns;      /* when its clock started; 0: it starts when CALL is sent */
    int trace;             /* WIRE_TRACE: where it records to */
    bool stays_on_gpu;     /* no mirror is wanted: the reader of the outputs looks at the samples */
};

struct child_time {
    double ms;        /* from the clock's start to DONE, dispatch overhead included; and: */
    double ahead_ms;  /* processor time that it used before, while it was stopped */
    double inputs_ms; /* of that, until CALL was sent; 0: the clock started then */
    double sample_ms; /* DONE to samples taken */
    double stop_ms;   /* samples taken to stopped */
    double own_ms;    /* the call alone by the child's own clock: a claim */
    double issue_ms;  /* of that, until its work was issued; 0: not said: a claim */
};

/* What takes the longer the more threads a child has: before its inputs are laid out. A reference
 * has the threads that made its inputs, its candidate may have none, and both are timed from then
 * on. The child is frozen until the call. Without it child_call begins with it. As child_call. */
NODISCARD int child_prepare_call(struct child *child, const struct time_limit *limit,
                                 struct err *err);
/* ERR_INPUT (child->failed), ERR_CRASH, ERR_TIMEOUT (killed), ERR_PROTOCOL, ERR_CANCELLED. Late
 * writes are no error: child->breach is CHILD_LATE. */
NODISCARD int child_call(struct child *child, const struct child_call *call,
                         struct child_time *time, struct err *err);
