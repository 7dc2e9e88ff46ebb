/* batch: many evaluations at once, in this process.
 *
 * Each job thread owns a session and takes the next task until there is none or the batch is
 * cancelled. Verdicts come back one at a time (never from two threads at once), in the order in
 * which they are finished. One job takes tasks in the order given. Of several, each stays with its
 * problem as long as there are tasks of it, because its session has that reference.
 *
 * Ownership: tasks are the caller's. Threads: batch_run's own; it returns when they have ended.
 */
#pragma once

#include "judge/evaluate.h"

#include <stddef.h>

struct batch_task {
    const struct problem *problem;
    struct candidate candidate;
    size_t number;  /* the caller's own, like the next */
    const char *id; /* NULL */
};

/* A verdict is valid during the call only. */
typedef void (*batch_report)(void *context, const struct batch_task *task,
                             const struct verdict *verdict);
/* Called about ten times a second while a batch runs; may be NULL. */
typedef void (*batch_tick)(void *context);

/* 0 when every task has been reported, ERR_CANCELLED when some have not. */
NODISCARD int batch_run(struct judge *judge, const struct batch_task *tasks, size_t count, int jobs,
                        const _Atomic int *cancelled, batch_report report, batch_tick tick,
                        void *context, struct err *err);
