/* slot: one job at a time, from its payload to its verdict; and what the beat may know of it.
 *
 * Between a slot's thread and the worker's beat stands the worker's lock: `state`, `job`, `stop`
 * and `deadline_ns` are changed with it. The judge reads `stop` alone, which is atomic.
 */
#ifndef WARPGYM_WORKER_SLOT_H
#define WARPGYM_WORKER_SLOT_H

#include "judge/judge.h"
#include "worker/worker.h"

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Why a job is stopped, beside EVALUATION_CANCELLED and EVALUATION_OUT_OF_TIME. For the judge each
 * of them is a cancellation. */
enum slot_stop {
    SLOT_LOST = 10,   /* the queue gave it to somebody else */
    SLOT_DRAINED = 11 /* it is to be handed back */
};

struct slot {
    struct worker *worker;
    pthread_t thread;
    struct session *session;
    bool busy;
    struct queue_job job; /* while it is busy */
    _Atomic int stop;
    int64_t deadline_ns; /* 0: none */
};

/* What has been judged since the worker started, by the verdict's status. */
struct tally {
    uint64_t ended[STATUS_COUNT];
};

struct worker {
    struct worker_options options;
    char name[QUEUE_NAME_BYTES];
    int64_t started_ms;
    struct judge *judge;
    struct slot *slots;
    size_t slot_count, thread_count;
    const char *claims[QUEUE_NEEDS_MAX];
    size_t claim_count;
    char how[HASH_HEX_BYTES]; /* version and settings that verdicts depend on */
    _Atomic(struct metric_table *) metrics;
    pthread_t beat;
    struct queue_watcher watcher; /* its address says which worker */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a slot is free, or all is over */
    bool beats, draining, ended;
    struct tally tally;
    _Atomic int64_t posted_ns; /* when the board last took a note of it */
    _Atomic int no_more;       /* of the judge: set when all slots have ended */
};

/* slot.c: the thread. */
void *slot_run(void *argument);
/* verdict.c: judges the job of a busy slot. The verdict is the caller's; never NULL. */
json_t *slot_judge(struct slot *slot);
/* With the lock: it stops, unless it was stopped before. */
void slot_stop(struct slot *slot, int why);
/* beat.c: the thread. */
void *worker_beat(void *argument);
/* note.c: what the board says of it: a new reference. `ids`: of running jobs, too, as far as there
 * is room. */
void worker_say_how(struct worker *worker);
json_t *worker_note(struct worker *worker);
/* count.c: the worker's metrics, which ask its judge, and what one verdict adds to them. */
void worker_count_open(struct worker *worker);
void worker_count(struct worker *worker, const json_t *verdict);

#endif
