/* ready: sandboxed processes that were started ahead, because they take long to get ready.
 *
 * A context on a GPU takes 0.2 to 0.5 s to make and does not survive a fork, so it cannot wait in a
 * standby server. Instead processes are forked ahead, put into their sandboxes and told to WARM
 * themselves (wire.h). Each is used once; a thread of the pool's
 * own replaces it, but starts no more in all than candidates are expected, or waited for. The
 * driver makes contexts one after the other, and whoever else wants something of it waits behind
 * them, so more threads would only be in the way.
 *
 * A context in the making makes one in ten intervals of 2 ms 12 % longer for whoever is timed
 * (docs/measurements): what nobody waits for yet is not made while one evaluation is on the GPU.
 * Where there are several, they wait for processes more than for anything else.
 *
 * Threads: any. warm_pool_close ends the threads and every process that nobody took.
 */
#ifndef WARPGYM_JUDGE_PROCESS_WARM_POOL_H
#define WARPGYM_JUDGE_PROCESS_WARM_POOL_H

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
    uint32_t processes; /* that stand ready at a time */
    /* Evaluations on the GPU: while there is one alone, only what somebody waits for is started.
     * The caller's; NULL: not known. */
    const _Atomic int *busy;
};

/* ERR_IO: there are no threads to be had. */
NODISCARD int warm_pool_open(struct warm_pool **pool, const struct warm_pool_options *options,
                             struct err *err);
void warm_pool_close(struct warm_pool *pool);
/* *busy has changed. NULL: nothing to do. */
void warm_pool_wake(struct warm_pool *pool);
/* `processes` more will be asked for. */
void warm_pool_expect(struct warm_pool *pool, uint32_t processes);
/* Ends those that wait: the GPU failed, and their contexts with it. NULL: nothing to do. */
void warm_pool_drop(struct warm_pool *pool);
/* How many stand ready now. NULL: none. */
uint32_t warm_pool_count(struct warm_pool *pool);
/* Waits for one. False: *cancelled (may be NULL), or none can be started: do it without the pool.
 * The process is the caller's (sandboxed_close). */
bool warm_pool_take(struct warm_pool *pool, const _Atomic int *cancelled,
                    struct sandboxed *process);

#endif
