/* queue: requests of runs, one at a time, on the training thread.
 *
 * Those of a run are executed in the order of their numbers, not in that of their arrival. One
 * whose predecessor does not arrive within tinker.order_timeout_ms fails, and those behind it go
 * on. Among runs, the one that was served least recently is next. The thread also ends sessions and
 * checkpoints whose time is over, and unloads runs that were closed.
 *
 * Errors: a submission is refused at once (404, 410, 429); what fails later is the future's result.
 * Ownership: a request is the queue's. Threads: submissions from any, without the lock (state.h).
 */
#pragma once

#include "base/json.h"
#include "server/tinker/futures.h"

struct http_request;
struct tinker_pass;
struct tinker_queue;
struct tinker_run;

struct tinker_request {
    const struct tinker_operation *operation;
    struct tinker_run *run;
    int64_t number;           /* -1: none, as it came */
    json_t *body;             /* or */
    struct tinker_pass *pass; /* of a pass */
};

struct tinker_operation {
    const char *name; /* the request's `type` */
    enum tinker_result kind;
    /* Appends the result. */
    int (*run)(struct tinker_service *service, struct tinker_request *request, struct buf *result,
               struct err *err);
};

/* Copies the body, which is the handler's thread's, and takes the pass, also where it refuses.
 * `err`: why the request fails, in its turn; NULL: it is executed. */
void tinker_queue_submit(struct tinker_service *service, const struct tinker_operation *operation,
                         const char *model, int64_t number, json_t *body, struct tinker_pass *pass,
                         const struct err *err, struct http_response *response);
/* The request's body says run ("model_id") and number ("seq_id"). */
void tinker_queue_submit_body(struct tinker_service *service,
                              const struct tinker_operation *operation,
                              struct http_request *request, struct http_response *response);

/* Starts the training thread. */
NODISCARD int tinker_queue_open(struct tinker_queue **out, struct tinker_service *service,
                                struct err *err);
/* With the lock: runs were closed. */
void tinker_queue_wake(struct tinker_queue *queue);
/* No thread runs any more: what waits for a run. */
void tinker_queue_drop(struct tinker_run *run);
/* After the request that runs. */
void tinker_queue_stop(struct tinker_queue *queue);
/* NULL is fine. */
void tinker_queue_close(struct tinker_queue *queue);
