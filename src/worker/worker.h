/* worker: claims jobs from a queue and evaluates them on the devices of this machine.
 *
 *            claim            verdict
 *  queue ──────────► slot ──────────────► queue             one thread and one session per slot
 *    ▲                 ▲ stop
 *    └── renew, register ── heartbeat ◄── cancel, deadlines  one thread
 *
 * The judge decides what a slot does with a device (compile without it, share it to check, have it
 * exclusively to time). A job whose payload is not an evaluation request ends with a verdict that
 * says so. A verdict that blames the machine (infrastructure_error, except for a problem's own
 * reference) hands the job back, for another attempt, perhaps elsewhere.
 *
 * A job is stopped at once if it is cancelled, if another worker has its lease (this worker's
 * verdict would be refused), or if it exceeds the request's time limit.
 *
 * Ownership: options and what they point to must outlive the worker. Threads: any; drain and free
 * once each. */
#pragma once

#include "base/err.h"
#include "base/metrics.h"
#include "base/paths.h"
#include "base/settings.h"
#include "queue/queue.h"

struct worker;

struct worker_options {
    const struct settings *settings; /* worker.*, and all that evaluation needs */
    struct queue *queue;
    const struct paths_list *search_paths; /* of problem suites */
    struct metrics *metrics; /* NULL: no metrics; must not be rendered after worker_free */
    const char *name;        /* NULL: HOST-PID-RANDOM */
};

/* Opens a judge and starts the threads; returns before standby servers are up. */
NODISCARD int worker_start(struct worker **out, const struct worker_options *options,
                           struct err *err);
const char *worker_name(const struct worker *worker);
/* 0: the queue accepted a recent heartbeat; else ERR_TIMEOUT. Threads: any. */
NODISCARD int worker_check(const struct worker *worker, struct err *err);

/* Claims no more jobs and waits for the running ones. Jobs that run after `timeout_ms` are
 * stopped and handed back as if never claimed. Claims on the queue end too (queue_interrupt):
 * other workers of the same struct queue claim nothing more. */
void worker_drain(struct worker *worker, int64_t timeout_ms);
/* After worker_drain. NULL is fine. */
void worker_free(struct worker *worker);
