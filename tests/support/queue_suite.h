/* queue_suite: what every store of queue.h must do, as one suite of tests that each store runs. */
#pragma once

#include "queue/queue.h"

struct queue_place {
    const char *name;
    /* An empty store; its URL is valid until the next call. */
    const char *(*fresh)(void);
    /* Leases of running jobs, notes and documents become so much older. */
    void (*age)(int64_t ms);
    const struct queue_clock *clock; /* NULL: the store's */
};

/* The exit status of main: runs all tests of the suite on that place. */
int queue_suite_run(const struct queue_place *place);

/* Opens `url` with the place's clock; fails the running test where it can't. */
struct queue *queue_suite_open(const struct queue_place *place, const char *url,
                               const struct queue_options *options);
