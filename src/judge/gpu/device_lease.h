/* device_lease: the device that one session's evaluation runs on.
 *
 *   a GPU    take_gpu ─► slots (gpu.slots) ─► processes with a context ─► its lock
 *   the CPU  memory (memory_gate.h) ─► its lock
 *
 * The processes are the spawner's (process/spawner.h).
 *
 * A session that holds the lock never waits for a context to be made or to end; a session that
 * compiles holds neither lock nor slot. The lock is held in turns (device/turn.h), so that no
 * session has to wait until a slow candidate of another one is done. A slot is freed only after its
 * GPU memory was freed or went to the reference cache with its process, so a session that holds all
 * slots has the GPU's memory to itself.
 *
 * Ownership: the session's storage; device_lease_init before the first use, device_lease_release
 * after each. Threads: the session's. Errors: ERR_CANCELLED while waiting, else the lock's.
 */
#pragma once

#include "device/turn.h"
#include "judge/gpu/gpu_pool.h"
#include "judge/gpu/memory_gate.h"

enum lease_mode {
    LEASE_NONE,
    LEASE_SHARED, /* with other sessions */
    LEASE_ALONE,  /* on a GPU without others; with all of the device's memory */
    LEASE_TIMED,  /* without others */
};

struct device_lease {
    struct gpu_pool *gpus;         /* the caller's, like the next three */
    struct memory_gate *memory;    /* of this machine */
    struct busy_time *cpu_busy;    /* how long the CPU was leased */
    const char *locks;             /* directory */
    const _Atomic int *cancelled;  /* of the evaluation */
    struct gpu_unit *unit;         /* NULL: the CPU */
    const struct gpu_unit *before; /* that the last evaluation had */
    const struct gpu_context *gpu; /* of `unit`: both children compute on it; NULL: the CPU */
    enum lease_mode wanted;        /* of this attempt: LEASE_SHARED or LEASE_ALONE */
    enum lease_mode held;
    bool retry_alone;        /* memory or quiet was missing: another attempt is worth it, alone */
    uint64_t bytes;          /* of the device's memory that are planned for the evaluation, */
    int share;               /* and how many of a GPU's slots that is; 0: one */
    int slots;               /* held of them */
    struct memory_pass pass; /* the CPU's memory */
    struct device_turn turn; /* the device's lock */
    double waited_ms;        /* for slots, processes and the lock, in this attempt */
};

void device_lease_init(struct device_lease *lease, struct gpu_pool *gpus,
                       struct memory_gate *memory, struct busy_time *cpu_busy, const char *locks);
/* The least loaded GPU. */
NODISCARD int device_lease_take_gpu(struct device_lease *lease, struct err *err);
void device_lease_return_gpu(struct device_lease *lease);
/* From now on another lease, which has none, has its GPU and slots. It gives up the lock. */
void device_lease_hand_over(struct device_lease *lease, struct device_lease *to);
/* Its name in locks: "cpu", or a GPU's UUID, which is the same for processes that see different
 * ones of a machine's GPUs. */
const char *device_lease_name(const struct device_lease *lease);
/* Whether other sessions have its GPU, too, and another attempt would be without them. */
bool device_lease_has_company(const struct device_lease *lease);
/* Its share of the slots, or of the CPU's memory; all of it if it is wanted alone. Nothing happens
 * if it has some. */
NODISCARD int device_lease_take_slots(struct device_lease *lease, struct err *err);
void device_lease_free_slots(struct device_lease *lease);
/* The device's lock; exclusive but for LEASE_SHARED. */
NODISCARD int device_lease_lock(struct device_lease *lease, enum lease_mode mode, struct err *err);
/* Whether another session is to have the device now. False where it is not locked. */
bool device_lease_over(const struct device_lease *lease);
/* Gives others the device and takes it again: device/turn.h. What the session has there is stopped.
 * After a failure it is not locked. */
NODISCARD int device_lease_pass(struct device_lease *lease, struct err *err);
void device_lease_unlock(struct device_lease *lease);
/* Lock and slots; not the GPU. */
void device_lease_release(struct device_lease *lease);
