#include "judge/process/memory_watch.h"

#include "base/clock.h"
#include "sandbox/memory_use.h"

#include <signal.h>
#include <stdio.h>

#define LOOK_NS INT64_C(20000000)
#define FAMILY_NS INT64_C(200000000)
#define GIB ((double)(1 << 30))

void memory_watch_begin(struct memory_watch *limit, const struct sandboxed *process,
                        uint64_t own_bytes)
{
    limit->own_bytes = own_bytes;
    if (own_bytes > 0)
        limit->most_bytes = memory_use_bytes(process->pid, true) + MEMORY_WATCH_CONTEXT_BYTES +
                            own_bytes;
}

int memory_watch_wait_ms(const struct memory_watch *limit, int left_ms)
{
    int tick_ms = limit->most_bytes ? 50 : 200;
    return left_ms < tick_ms ? left_ms : tick_ms;
}

int memory_watch_look(struct memory_watch *limit, const struct sandboxed *process,
                      struct wire_failed *failed, struct err *err)
{
    int64_t now_ns = clock_now_ns();
    if (limit->most_bytes == 0)
        return 0;
    bool family = now_ns - limit->family_ns >= FAMILY_NS;
    uint64_t bytes = memory_use_bytes(process->pid, family);
    limit->looked_ns = clock_now_ns();
    if (family)
        limit->family_ns = limit->looked_ns;
    if (bytes <= limit->most_bytes)
        return 0;
    if (!process->reaped)
        kill(process->pid, SIGKILL);
    *failed = (struct wire_failed){.type = WIRE_FAILED, .failure = FAILED_MEMORY};
    snprintf(failed->text, sizeof failed->text,
             "it took %.2f GiB of this machine's own memory, and %.2f GiB is the most: %.2f GiB by "
             "the setting run.memory_bytes and for copies of its arguments, the rest for its "
             "program and the GPU's driver",
             (double)bytes / GIB, (double)limit->most_bytes / GIB, (double)limit->own_bytes / GIB);
    return err_set(err, ERR_INPUT, "%.600s", failed->text);
}

int memory_watch_look_again(struct memory_watch *limit, const struct sandboxed *process,
                            struct wire_failed *failed, struct err *err)
{
    return clock_now_ns() - limit->looked_ns < LOOK_NS
               ? 0
               : memory_watch_look(limit, process, failed, err);
}
