/* remote_batch: many evaluations on a server, the counterpart of judge/batch.h.
 *
 * Requests are sent in batches; a few threads wait for them by long polls in the order of
 * submission, so verdicts arrive about as they are finished. If the server refuses a batch
 * because of one request, its requests are sent one by one, so the others are still evaluated.
 * However the run ends, nothing stays behind: evaluations that have not ended are cancelled, for
 * REMOTE_CANCEL_MS at most.
 *
 * Threads: one thread of the batch calls `make` and `refuse`; several call `report`, never two
 * at a time; the caller's calls `tick`. None of refuse, report and tick runs concurrently with
 * another. */
#pragma once

#include "client/remote.h"

#include <stddef.h>

#define REMOTE_MAX_IN_FLIGHT 1000 /* a batch's evaluations in flight on the server by default */

struct remote_work {
    size_t count;
    size_t max_in_flight; /* in flight at a time; 0: REMOTE_MAX_IN_FLIGHT */
    /* A new request, without id. */
    json_t *(*make)(void *context, size_t index);
    /* The evaluation has ended. Valid during the call only. */
    void (*report)(void *context, size_t index, const struct remote_evaluation *evaluation);
    /* The server refused the request. */
    void (*refuse)(void *context, size_t index, const struct err *err);
    void (*tick)(void *context); /* about ten times a second */
    void *context;
};

/* 0 when each was reported or refused. `url` as remote_open. */
NODISCARD int remote_batch_run(const struct settings *settings, const char *url,
                               const struct remote_work *work, const _Atomic int *cancelled,
                               struct err *err);
