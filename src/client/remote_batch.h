/* remote_batch: many evaluations on a server, the counterpart of judge/batch.h.
 *
 * Requests go out in batches and are waited for by long polls of a few threads, first come first
 * served, so that verdicts come back about as they are finished. A batch that the server refuses
 * for one request in it is sent again one by one: the others are still judged. However it ends,
 * nothing that was submitted stays behind: what has not ended is cancelled, for REMOTE_CANCEL_MS at
 * most.
 *
 * Threads: `make` and `refuse` are called by one thread of the batch, `report` by several but never
 * two at a time; `tick` by the caller's. None of refuse, report and tick runs beside another.
 */
#ifndef WARPGYM_CLIENT_REMOTE_BATCH_H
#define WARPGYM_CLIENT_REMOTE_BATCH_H

#include "client/remote.h"

#include <stddef.h>

#define REMOTE_AT_ONCE 1000 /* evaluations that a batch has on the server where nobody said */

struct remote_work {
    size_t count;
    size_t at_once; /* on the server at a time; 0: REMOTE_AT_ONCE */
    /* A new request, without id. */
    json_t *(*make)(void *context, size_t index);
    /* It has ended. Valid during the call only. */
    void (*report)(void *context, size_t index, const struct remote_evaluation *evaluation);
    /* The server does not take it. */
    void (*refuse)(void *context, size_t index, const struct err *err);
    void (*tick)(void *context); /* about ten times a second */
    void *context;
};

/* 0 when each was reported or refused. `url` as remote_open. */
NODISCARD int remote_batch_run(const struct settings *settings, const char *url,
                               const struct remote_work *work, const _Atomic int *cancelled,
                               struct err *err);

#endif
