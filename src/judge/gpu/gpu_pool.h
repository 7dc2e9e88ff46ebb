/* gpu_pool: the GPUs that this judge may use, and which of them gets the next evaluation.
 *
 *   closed        it has not been used yet
 *   busy          one thread opens it, or tries it after its quarantine
 *   good          may be taken
 *   quarantined   it failed: it is not taken until it has been tried
 *
 * An evaluation takes the good GPU with the fewest evaluations on it, of equals the one that its
 * session had before (its reference is cached there), then the first. A GPU is quarantined when
 * the judge's own context on it answers no more, or its management says that it is unsound: what a
 * candidate does in its process is never a reason. After gpu.quarantine_ms, when nothing runs on it
 * any more, a fresh process tries it; if it works there, the judge opens it anew. Contexts that
 * were given up stay where they are until the end: children that lived in them still refer to them.
 *
 * Which GPUs those are follows CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER (the driver reads them)
 * and gpu.devices; a child gets the UUID of one and sees no other. MIG instances are GPUs like
 * others; those of one board share its clocks and power.
 *
 * Threads: any, for every function. A unit belongs to the sessions that have taken it, except the
 * fields that are the pool's or the judge's.
 */
#pragma once

#include "base/waiters.h"
#include "device/gpu_peaks.h"
#include "device/gpu_state.h"
#include "judge/gpu/busy_time.h"
#include "judge/gpu/gpu_work.h"
#include "sandbox/sandbox.h"

#include <pthread.h>

struct warm_pool;

enum gpu_unit_state { GPU_CLOSED, GPU_BUSY /* opening, trying */, GPU_GOOD, GPU_QUARANTINED };

struct gpu_opened {
    struct gpu_context context;
    struct gpu_opened *before; /* given up */
};

/* What did not work is not tried again until then. */
struct gpu_unit_failure {
    struct err err;
    int64_t until_ns;
};

struct gpu_unit {
    struct gpu facts;
    struct gpu_sensor sensor;
    /* of the pool, under its lock */
    enum gpu_unit_state state;
    struct gpu_opened *opened;
    int evaluations;                /* that have taken it */
    _Atomic int slots_used;         /* by those that are on it now; read by any thread */
    struct waiter *queue;           /* that wait for slots */
    _Atomic uint64_t planned_bytes; /* of its memory, by those that have slots */
    struct err why;                 /* in quarantine */
    int64_t until_ns, pause_ms;
    int64_t ecc_errors;
    struct busy_time busy; /* of its lock; has a lock of its own */
    /* of the judge, under its lock */
    struct gpu_work work; /* not open: the host does it */
    struct gpu_unit_failure no_work, no_peaks;
    _Atomic(char *) peaks_image;           /* gpu_peaks.cu compiled, until they are measured */
    struct gpu_peaks peaks;                /* of the session that has the GPU alone */
    _Atomic bool have_peaks;               /* they are measured, or will not be */
    struct warm_pool *warm[SANDBOX_BUILD]; /* by kind of sandbox; NULL: none: process/spawner.h */
};

struct gpu_pool_options {
    const char *driver, *nvml; /* libraries */
    const char *devices;       /* "all", or a list */
    int64_t quarantine_ms;
    int slots; /* evaluations at a time on one GPU */
    /* Ends what was made on a unit before: its context is given up. */
    void (*give_up)(void *context, struct gpu_unit *unit);
    /* Uses the GPU in a fresh process; 0: it works. */
    int (*probe)(void *context, const struct gpu *facts, struct err *err);
    void *context;
};

struct gpu_pool {
    struct gpu_pool_options options;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool listed;
    struct err problem; /* why there are none */
    struct nvml nvml;
    struct err no_nvml;
    int driver_version;
    struct gpu_unit *units;
    int count;
};

void gpu_pool_init(struct gpu_pool *pool, const struct gpu_pool_options *options);
/* All units are given back before. Safe on a zeroed struct. */
void gpu_pool_deinit(struct gpu_pool *pool);

/* Finds the GPUs, once; take does it, too. ERR_MISSING, ERR_UNSUPPORTED: there are none;
 * ERR_INPUT: gpu.devices names one that is not there. */
NODISCARD int gpu_pool_list(struct gpu_pool *pool, struct err *err);
/* Waits while one is opened. `before`: what the caller had last, or NULL. Its context is the
 * calling thread's. As gpu_pool_list; ERR_IO: all that there are are in quarantine. */
NODISCARD int gpu_pool_take(struct gpu_pool *pool, const struct gpu_unit *before,
                            struct gpu_unit **unit, struct err *err);
/* Whether another evaluation has it as well. */
bool gpu_pool_shared(struct gpu_pool *pool, const struct gpu_unit *unit);
/* Waits until so many of its slots are free, and takes them: an evaluation with all slots is
 * alone there. None overtakes another. ERR_CANCELLED: *cancelled (may be NULL). */
NODISCARD int gpu_pool_take_slots(struct gpu_pool *pool, struct gpu_unit *unit, int slots,
                                  const _Atomic int *cancelled, struct err *err);
void gpu_pool_free_slots(struct gpu_pool *pool, struct gpu_unit *unit, int slots);
void gpu_pool_give_back(struct gpu_pool *pool, struct gpu_unit *unit);

/* Something went wrong on a unit that the caller has: is it the GPU? True: it was, and the unit is
 * in quarantine; `err` says why. */
bool gpu_pool_suspect(struct gpu_pool *pool, struct gpu_unit *unit, struct err *err);
/* Whether a take would find one now. */
bool gpu_pool_any(struct gpu_pool *pool);
/* Opens and tries one as an evaluation would (doctor). */
NODISCARD int gpu_pool_try(struct gpu_pool *pool, struct gpu_unit *unit, struct err *err);
/* Where the driver's library lies, which a sandbox must be able to read. */
const char *gpu_pool_directory(struct gpu_pool *pool);

/* Of a unit that was taken. */
static inline const struct gpu_context *gpu_unit_context(const struct gpu_unit *unit)
{
    return &unit->opened->context;
}
/* What it can do at the most: measured where that has not been done on this machine, which wants
 * the GPU alone, and `peaks_image`; bounds alone where it cannot be, and until there is one. */
void gpu_unit_peaks(struct gpu_unit *unit, const char *state_directory);
