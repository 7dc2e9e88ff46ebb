/* memory_watch: how much of this machine's memory a child may hold where its sandbox cannot bound
 * it: a CUDA driver reserves more addresses than any address-space limit would allow.
 *
 * The judge looks from time to time while it waits for the child, and once more when a call is
 * over. Both look at the process itself; at its descendants, of which there are none behind a
 * system-call filter, less often, because that takes a moment for each thread.
 *
 * Threads: the child's session. Errors: a child that holds more is killed: ERR_INPUT, and
 * *failed says so.
 */
#pragma once

#include "base/err.h"
#include "judge/process/wire.h"
#include "sandbox/sandboxed.h"

#include <stdint.h>

/* What a CUDA context takes of this machine's memory, with all that libraries put beside it. */
#define MEMORY_WATCH_CONTEXT_BYTES ((uint64_t)1 << 30)

struct memory_watch {
    uint64_t own_bytes;           /* for itself: as far as settings and arguments go */
    uint64_t most_bytes;          /* in all; 0: its sandbox bounds it */
    int64_t looked_ns, family_ns; /* when it was looked at; when at its descendants, too */
};

/* Beyond what the process holds now, it may hold so much, and a context; 0: no limit. */
void memory_watch_begin(struct memory_watch *limit, const struct sandboxed *process,
                        uint64_t own_bytes);
/* How long to wait at most until the next look. */
int memory_watch_wait_ms(const struct memory_watch *limit, int left_ms);
NODISCARD int memory_watch_look(struct memory_watch *limit, const struct sandboxed *process,
                                struct wire_failed *failed, struct err *err);
/* The same, unless that was done just before. */
NODISCARD int memory_watch_look_again(struct memory_watch *limit, const struct sandboxed *process,
                                      struct wire_failed *failed, struct err *err);
