/* worker: takes jobs from a queue and judges them on the devices of this machine.
 *
 *             claim            verdict
 *   queue ──────────► slot ──────────────► queue          one thread and one session for each slot
 *     ▲                 ▲ stop
 *     └── renew, note ── beat ◄── who cancels, deadlines  one thread
 *
 * What a slot does with a device (compile without it, share it to check, have it alone to time) is
 * the judge's business. A job whose payload is no evaluation request ends with a verdict that says
 * so. A verdict that blames the machine (infrastructure_error, but for a problem's own reference)
 * hands the job back, for another attempt, perhaps elsewhere.
 *
 * A job that is cancelled is stopped at once; so is one that this worker lost to another one, whose
 * verdict nobody would take, and one that took longer than its request gives it.
 *
 * Ownership: options and what they point to must outlive the worker. Threads: any; drain and free
 * once each.
 */
#ifndef WARPGYM_WORKER_WORKER_H
#define WARPGYM_WORKER_WORKER_H

#include "base/err.h"
#include "base/metrics.h"
#include "base/paths.h"
#include "base/settings.h"
#include "queue/queue.h"

struct worker;

struct worker_options {
    const struct settings *settings; /* worker.*, and all that judging needs */
    struct queue *queue;
    const struct paths_list *roots; /* of problem suites */
    struct metrics *metrics;        /* NULL: nobody counts; not rendered after worker_free */
    const char *name;               /* NULL: HOST-PID-RANDOM */
};

/* Opens a judge and starts the threads; comes back before there are standby processes. */
NODISCARD int worker_start(struct worker **out, const struct worker_options *options,
                           struct err *err);
const char *worker_name(const struct worker *worker);
/* Whether the queue knows that it lives. ERR_TIMEOUT: not lately. Threads: any. */
NODISCARD int worker_check(const struct worker *worker, struct err *err);

/* Takes no more jobs, and waits until those it has have ended. What is not over after `timeout_ms`
 * is stopped and handed back as if it had never been taken. The queue's claims end, too
 * (queue_interrupt): other workers of the same struct queue take nothing more. */
void worker_drain(struct worker *worker, int64_t timeout_ms);
/* After worker_drain. NULL is fine. */
void worker_free(struct worker *worker);

#endif
