/* memory_gate: evaluations on the CPU that need more of this machine's memory than it has together
 * wait for each other.
 *
 *   take ─► its turn comes ─► nothing is promised, or all that is and this fit ─► … ─► give
 *
 * A promise is the most that a large evaluation takes; small ones never wait. What all promises may
 * come to is what was available when there was none; and as much as one's has to be available now.
 * None overtakes another. A promise is no limit: where memory was missing
 * although it seemed to suffice, an evaluation that was not alone is made again, with no other
 * large one.
 *
 * Threads: any, for every function; a pass belongs to its session.
 */
#pragma once

#include "base/err.h"
#include "base/waiters.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_GATE_ALL UINT64_MAX            /* no other large one beside it */
#define MEMORY_GATE_LARGE ((uint64_t)1 << 30) /* what takes less is small */

struct memory_gate {
    uint64_t (*available)(void); /* bytes; 0: not known */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct waiter *first;
    uint64_t capacity, promised;
    uint64_t inside, entered; /* evaluations: now, and ever */
};

struct memory_pass {
    bool inside;
    uint64_t bytes;
    uint64_t entered; /* memory_gate.entered once it was inside */
    bool beside;      /* others were inside then */
};

void memory_gate_init(struct memory_gate *gate, uint64_t (*available)(void));
void memory_gate_deinit(struct memory_gate *gate);
/* ERR_CANCELLED: *cancelled (may be NULL). A pass that is inside stays as it is. */
NODISCARD int memory_gate_take(struct memory_gate *gate, uint64_t bytes, struct memory_pass *pass,
                               const _Atomic int *cancelled, struct err *err);
/* A pass that is inside becomes one of so many bytes, at once or not at all (false); one that is
 * not is never. */
bool memory_gate_grow(struct memory_gate *gate, uint64_t bytes, struct memory_pass *pass);
/* Whether another evaluation has been inside since it was. */
bool memory_gate_was_shared(struct memory_gate *gate, const struct memory_pass *pass);
/* Nothing happens to a pass that is not inside. */
void memory_gate_give(struct memory_gate *gate, struct memory_pass *pass);
