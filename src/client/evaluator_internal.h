/* evaluator_internal: the waiting of evaluator.h, and the interface of its two kinds.
 *
 * A session is what one evaluation at a time needs: a session of the judge, or a connection to a
 * server. Sessions open on first use and stay open until the evaluator closes; calls wait while
 * all are in use.
 *
 * Threads: `session_open` and `evaluate` run concurrently for different sessions;
 * `session_close` and `close` run when nothing else does. */
#pragma once

#include "client/evaluator.h"

struct evaluator_call {
    double waited_ms;             /* for the session */
    const _Atomic int *cancelled; /* non-zero: ERR_CANCELLED; NULL: never */
};

struct evaluator_kind {
    int (*session_open)(void *state, void **session, struct err *err);
    void (*session_close)(void *state, void *session);
    int (*evaluate)(void *state, void *session, const json_t *request,
                    const struct evaluator_call *turn, struct verdict *verdict, struct err *err);
    void (*close)(void *state);
};

/* Takes ownership of `state`. */
struct evaluator *evaluator_new(const struct evaluator_kind *kind, void *state, size_t capacity,
                                const _Atomic int *cancelled);
