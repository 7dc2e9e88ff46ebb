/* lock: shared and exclusive use of a device.
 *
 * Checking shares a device, timing takes it alone. A lock is two empty files in one directory,
 * DEVICE.gate and DEVICE.lock, under flock(2), so that it holds between threads (each acquisition
 * opens its own descriptors), processes and users, and vanishes with a process that crashes.
 *
 *   shared     gate shared ─► lock shared ─► gate released          … lock released
 *   exclusive  gate alone  ─► lock alone  ─► gate released          … lock released
 *
 * The gate makes it a fair turnstile: an exclusive waiter holds the gate until all holders of the
 * lock have left, and no new one enters, so a stream of checks cannot starve a timing. Once it has
 * the lock it opens the gate, and the shared waiters enter together, before the next exclusive one.
 * Waiting is polling (0.2 to 2 ms, jittered), which is what lets a waiter see *cancelled.
 *
 * Threads: acquire and release one struct device_lock from any one thread at a time.
 */
#pragma once

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

enum device_lock_mode { DEVICE_SHARED, DEVICE_EXCLUSIVE };

struct device_lock {
    int held, gate; /* descriptors; -1 when not held */
    enum device_lock_mode mode;
    double waited_ms; /* since device_lock_acquire, all together */
};

#define DEVICE_LOCK_NONE ((struct device_lock){.held = -1, .gate = -1})

/* `directory` as from paths_lock_directory; `device` is "cpu" or a GPU's UUID. Waits until the lock
 * is held, *cancelled is not 0 (ERR_CANCELLED; NULL: cannot be cancelled) or something is wrong
 * with the files (ERR_IO). */
NODISCARD int device_lock_acquire(struct device_lock *lock, const char *directory,
                                  const char *device, enum device_lock_mode mode,
                                  const _Atomic int *cancelled, struct err *err);
/* What one thread of this process has waited for, for a second or more. */
struct device_wait {
    pid_t pid; /* of the process that has the device */
    double seconds;
};
/* False: none waits for another process. Any thread. */
bool device_lock_wait_now(struct device_wait *wait);
/* Whether another user waits for the holder to leave. Never blocks. */
bool device_lock_wanted(const struct device_lock *lock);
/* Lets the others in and waits for the lock again, like device_lock_acquire, but for up to back_ms
 * only once the device has been free for a moment; for a shared user, of those that want it alone.
 * After a failure it is not held. */
NODISCARD int device_lock_pass(struct device_lock *lock, const char *device, double back_ms,
                               const _Atomic int *cancelled, struct err *err);
/* Nothing happens to a lock that is not held. */
void device_lock_release(struct device_lock *lock);
