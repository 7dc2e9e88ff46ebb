/* internal: what the worker's files share.
 *
 * A slot runs one job at a time, from its payload to its verdict. The worker's lock is between a
 * slot's thread and the heartbeat: `state`, `job`, `stop` and `deadline_ns` change under it. The
 * judge reads only `stop`, which is atomic. */
#pragma once

#include "judge/evaluate.h"
#include "worker/worker.h"

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Why a job is stopped, beside EVALUATION_CANCELLED and EVALUATION_OUT_OF_TIME. The judge treats
 * both as a cancellation. */
enum slot_stop {
    SLOT_LOST = 10,   /* the queue gave the job to another worker */
    SLOT_DRAINED = 11 /* the job is to be handed back */
};

struct slot {
    struct worker *worker;
    pthread_t thread;
    struct session *session;
    bool busy;
    struct queue_job job; /* valid while busy */
    _Atomic int stop;
    int64_t deadline_ns; /* 0: none */
};

/* Evaluations since the worker started, by the verdict's status. */
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
    char settings_hash[HASH_HEX_BYTES]; /* hash of version and settings that verdicts depend on */
    _Atomic(struct metric_table *) metrics;
    pthread_t heartbeat_thread;
    struct queue_watcher watcher; /* its address identifies the worker */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a slot is free, or the worker has ended */
    bool heartbeat_started, draining, ended;
    struct tally tally;
    _Atomic int64_t posted_ns; /* when the queue last accepted the registration */
    _Atomic int no_more;       /* the judge's: set when all slots have ended */
};

/* slot.c: the thread. */
void *slot_thread(void *argument);
/* verdict.c: evaluates the job of a busy slot. The verdict is the caller's (verdict_deinit). */
void slot_judge(struct slot *slot, struct verdict *verdict);
/* With the lock. Stops the job, unless it was stopped before. */
void slot_stop(struct slot *slot, int why);
/* heartbeat.c: the thread. */
void *worker_heartbeat(void *argument);
/* registration.c: sets the hash of the settings; a new reference to the registration, with the
 * ids of running jobs as far as they fit. */
void worker_hash_settings(struct worker *worker);
json_t *worker_registration(struct worker *worker);
/* worker_metrics.c: the worker's metrics, refreshed from its judge, and what one verdict adds. */
void worker_metrics_open(struct worker *worker);
void worker_metrics_record(struct worker *worker, const struct verdict *verdict);
