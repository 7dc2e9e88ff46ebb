/* turn: a device for one slice of time after another.
 *
 * What may need a device for long (a compilation, a candidate that loads, one that is slow) holds
 * its lock in turns: it asks device_turn_over now and then, and if so it stops what it has running
 * and calls device_turn_pass, which lets the others in and returns with the next turn.
 *
 * A turn lasts TURN_MS at the least, and only TURN_SHORT_MS once all turns together have taken
 * TURN_LONG_MS; then, too, the holder stands back before its next turn until the others are done,
 * and at most for TURN_BACK_MS. So what has had the device for long gets what the others leave, and
 * a twentieth of it at the least; what needs it briefly waits for a turn of another between two of
 * its own. Turns alone and shared ones are counted apart: a long check makes no long timing.
 *
 * Ownership: the caller's storage; device_turn_end after each device_turn_begin that returned 0.
 * Threads: one at a time. Errors: those of device/lock.h.
 */
#pragma once

#include "device/lock.h"

#include <stdint.h>

struct device_turn {
    /* the caller's, set before the first use */
    const char *directory, *device; /* as device_lock_acquire has them */
    const _Atomic int *cancelled;
    /* its own, as DEVICE_TURN has them before the first use */
    struct device_lock lock;
    int64_t since_ns;  /* when the turn began */
    double held_ms[2]; /* in the turns that have ended, by enum device_lock_mode */
};

#define DEVICE_TURN(where, which, stop)                                                            \
    ((struct device_turn){                                                                         \
        .directory = (where), .device = (which), .cancelled = (stop), .lock = DEVICE_LOCK_NONE})

NODISCARD int device_turn_begin(struct device_turn *turn, enum device_lock_mode mode,
                                struct err *err);
/* Whether all turns of the present mode together have taken TURN_LONG_MS. */
bool device_turn_long(const struct device_turn *turn);
/* Whether the turn is over, and another user waits for it. */
bool device_turn_over(const struct device_turn *turn);
/* The lock to others, and again to the caller. After a failure it is not held. */
NODISCARD int device_turn_pass(struct device_turn *turn, struct err *err);
void device_turn_end(struct device_turn *turn);
