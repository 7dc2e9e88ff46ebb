/* warm_pool: sandboxed processes that were started ahead, because a CUDA context takes long to
 * make.
 *
 * A context takes 0.2 to 0.5 s and does not survive a fork, so it cannot wait in a standby server.
 * Instead processes are forked ahead, put into their sandboxes and sent WARM (wire.h). Each is used
 * once; a thread of the pool replaces it, but starts no more in all than candidates are expected or
 * waited for. The driver makes contexts one after the other and blocks all other work meanwhile, so
 * more threads would only be in the way.
 *
 * A context in the making makes one in ten timed intervals of 2 ms 12 % longer (docs/measurements).
 * So while one evaluation is on the GPU, only processes that are waited for are started. With
 * several evaluations, they wait for processes more than for anything else.
 *
 * Ownership: warm_pool_close ends the threads and every process that was not taken. Threads: any.
 */
#pragma once

#include "base/err.h"
#include "device/gpu.h"
#include "judge/process/wire.h"
#include "sandbox/standby.h"

#include <stdatomic.h>
#include <stdbool.h>

struct warm_pool;

struct warm_pool_options {
    struct standby *standby;       /* the caller's; must outlive the pool */
    const struct sandbox *sandbox; /* copied; its scratch must be memory of its own */
    struct wire_gpu gpu;
    uint32_t processes; /* ready at a time */
    /* Evaluations on the GPU: while there is only one, only processes that are waited for are
     * started. The caller's; NULL: not known. */
    const _Atomic int *busy;
};

/* ERR_IO: no thread could be started. */
NODISCARD int warm_pool_open(struct warm_pool **pool, const struct warm_pool_options *options,
                             struct err *err);
void warm_pool_close(struct warm_pool *pool);
/* *busy has changed. NULL: nothing to do. */
void warm_pool_wake(struct warm_pool *pool);
/* `processes` more will be taken. */
void warm_pool_expect(struct warm_pool *pool, uint32_t processes);
/* Ends those that wait: the GPU failed, and their contexts with it. NULL: nothing to do. */
void warm_pool_drop(struct warm_pool *pool);
/* How many are ready now. NULL: none. */
uint32_t warm_pool_count(struct warm_pool *pool);
/* Waits for one. False: *cancelled (may be NULL), or none can be started: do it without the pool.
 * The process is the caller's (sandboxed_close). */
bool warm_pool_take(struct warm_pool *pool, const _Atomic int *cancelled,
                    struct sandboxed *process);
