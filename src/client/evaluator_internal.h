/* evaluator_internal: what stands behind evaluator.h: turns, and the two who judge.
 *
 * A *seat* is what one evaluation at a time needs: a session of the judge, or a connection to a
 * server. Seats are opened when they are first needed and kept until the evaluator closes; what
 * comes when all are taken waits.
 *
 * Threads: `seat_open` and `evaluate` run beside each other, for different seats; `seat_close` and
 * `close` when nothing else does.
 */
#ifndef WARPGYM_CLIENT_EVALUATOR_INTERNAL_H
#define WARPGYM_CLIENT_EVALUATOR_INTERNAL_H

#include "client/evaluator.h"

struct evaluator_turn {
    double waited_ms;             /* for the seat */
    const _Atomic int *cancelled; /* non-zero: ERR_CANCELLED; NULL: never */
};

struct evaluator_kind {
    int (*seat_open)(void *judges, void **seat, struct err *err);
    void (*seat_close)(void *judges, void *seat);
    int (*evaluate)(void *judges, void *seat, const json_t *request,
                    const struct evaluator_turn *turn, json_t **verdict, struct err *err);
    void (*close)(void *judges);
};

/* Takes `judges` over. */
struct evaluator *evaluator_new(const struct evaluator_kind *kind, void *judges, size_t at_once,
                                const _Atomic int *cancelled);

#endif
