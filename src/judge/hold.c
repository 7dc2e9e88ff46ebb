/* hold: how much of this machine's memory a side may hold, where its box cannot bound it. Declared
 * in side.h.
 *
 * Whoever waits for a side looks from time to time, and once more when a call is over. Both look at
 * the process itself; at its children, of which there are none behind a system-call filter, less
 * often, because that takes a moment for each thread.
 */
#include "judge/side.h"

#include "base/clock.h"
#include "sandbox/resident.h"

#include <signal.h>
#include <stdio.h>

#define LOOK_NS INT64_C(20000000)
#define FAMILY_NS INT64_C(200000000)
#define GIB ((double)(1 << 30))

void side_hold_begin(struct side *side, uint64_t own_bytes)
{
    side->hold.own_bytes = own_bytes;
    if (own_bytes > 0)
        side->hold.most_bytes = resident_bytes(side->boxed.pid, true) + SIDE_CONTEXT_BYTES +
                                own_bytes;
}

int side_hold_tick_ms(const struct side *side, int left_ms)
{
    int tick_ms = side->hold.most_bytes ? 50 : 200;
    return left_ms < tick_ms ? left_ms : tick_ms;
}

int side_hold_check(struct side *side, struct err *err)
{
    struct side_hold *hold = &side->hold;
    int64_t now_ns = clock_now_ns();
    if (hold->most_bytes == 0)
        return 0;
    bool family = now_ns - hold->family_ns >= FAMILY_NS;
    uint64_t bytes = resident_bytes(side->boxed.pid, family);
    hold->looked_ns = clock_now_ns();
    if (family)
        hold->family_ns = hold->looked_ns;
    if (bytes <= hold->most_bytes)
        return 0;
    if (!side->boxed.reaped)
        kill(side->boxed.pid, SIGKILL);
    struct wire_failed failed = {.type = WIRE_FAILED, .failure = FAILED_MEMORY};
    snprintf(failed.text, sizeof failed.text,
             "it took %.2f GiB of this machine's own memory, and %.2f GiB is the most: %.2f GiB by "
             "the setting run.memory_bytes and for copies of its arguments, the rest for its "
             "program and the GPU's driver",
             (double)bytes / GIB, (double)hold->most_bytes / GIB, (double)hold->own_bytes / GIB);
    side_take_failure(side, &failed);
    return err_set(err, ERR_INPUT, "%.600s", side->failed.text);
}

int side_hold_look(struct side *side, struct err *err)
{
    return clock_now_ns() - side->hold.looked_ns < LOOK_NS ? 0 : side_hold_check(side, err);
}
