#include "judge/process/memory_limit.h"

#include "base/clock.h"
#include "judge/process/child.h"
#include "sandbox/resident.h"

#include <signal.h>
#include <stdio.h>

#define LOOK_NS INT64_C(20000000)
#define FAMILY_NS INT64_C(200000000)
#define GIB ((double)(1 << 30))

void child_limit_memory(struct child *child, uint64_t own_bytes)
{
    child->limit.own_bytes = own_bytes;
    if (own_bytes > 0)
        child->limit.most_bytes = resident_bytes(child->process.pid, true) +
                                  MEMORY_LIMIT_CONTEXT_BYTES + own_bytes;
}

int child_watch_ms(const struct child *child, int left_ms)
{
    int tick_ms = child->limit.most_bytes ? 50 : 200;
    return left_ms < tick_ms ? left_ms : tick_ms;
}

int child_check_memory(struct child *child, struct err *err)
{
    struct memory_limit *limit = &child->limit;
    int64_t now_ns = clock_now_ns();
    if (limit->most_bytes == 0)
        return 0;
    bool family = now_ns - limit->family_ns >= FAMILY_NS;
    uint64_t bytes = resident_bytes(child->process.pid, family);
    limit->looked_ns = clock_now_ns();
    if (family)
        limit->family_ns = limit->looked_ns;
    if (bytes <= limit->most_bytes)
        return 0;
    if (!child->process.reaped)
        kill(child->process.pid, SIGKILL);
    struct wire_failed failed = {.type = WIRE_FAILED, .failure = FAILED_MEMORY};
    snprintf(failed.text, sizeof failed.text,
             "it took %.2f GiB of this machine's own memory, and %.2f GiB is the most: %.2f GiB by "
             "the setting run.memory_bytes and for copies of its arguments, the rest for its "
             "program and the GPU's driver",
             (double)bytes / GIB, (double)limit->most_bytes / GIB, (double)limit->own_bytes / GIB);
    child_take_failure(child, &failed);
    return err_set(err, ERR_INPUT, "%.600s", child->failed.text);
}

int child_watch_memory(struct child *child, struct err *err)
{
    return clock_now_ns() - child->limit.looked_ns < LOOK_NS ? 0 : child_check_memory(child, err);
}
