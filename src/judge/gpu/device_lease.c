#include "judge/gpu/device_lease.h"

#include "base/clock.h"
#include "base/log.h"
#include "judge/judge_internal.h"
#include "judge/process/start.h"

void device_lease_init(struct device_lease *lease, struct judge *judge)
{
    *lease = (struct device_lease){.judge = judge,
                                   .wanted = LEASE_SHARED,
                                   .lock = DEVICE_LOCK_NONE,
                                   .cancelled = judge->options.cancelled};
}

int device_lease_take_gpu(struct device_lease *lease, struct err *err)
{
    int result = gpu_pool_take(&lease->judge->gpus, lease->before, &lease->unit, err);
    if (result == 0)
        lease->gpu = gpu_unit_context(lease->unit);
    return result;
}

void device_lease_return_gpu(struct device_lease *lease)
{
    gpu_pool_give_back(&lease->judge->gpus, lease->unit);
    lease->before = lease->unit;
    lease->unit = NULL;
    lease->gpu = NULL;
}

const char *device_lease_name(const struct device_lease *lease)
{
    return lease->gpu ? lease->gpu->facts.uuid : "cpu";
}

/* How many processes may be started ahead depends on how many slots are taken. */
static void wake_warm_pools(struct device_lease *lease)
{
    for (int kind = 0; kind < SANDBOX_BUILD; kind++)
        warm_pool_wake(lease->unit->warm[kind]);
}

int device_lease_take_slots(struct device_lease *lease, struct err *err)
{
    struct judge *judge = lease->judge;
    int most = (int)judge->options.settings->gpu_at_once;
    int slots = lease->wanted == LEASE_ALONE ? most : 1;
    if (!lease->unit || lease->slots > 0)
        return 0;
    int64_t start_ns = clock_now_ns();
    int result = gpu_pool_take_slots(&judge->gpus, lease->unit, slots, most, lease->cancelled, err);
    lease->waited_ms += clock_ms_since(start_ns);
    if (result < 0)
        return result;
    lease->slots = slots;
    wake_warm_pools(lease);
    return 0;
}

void device_lease_free_slots(struct device_lease *lease)
{
    if (lease->slots == 0)
        return;
    gpu_pool_free_slots(&lease->judge->gpus, lease->unit, lease->slots);
    lease->slots = 0;
    wake_warm_pools(lease);
}

void device_lease_reserve(struct device_lease *lease, uint32_t processes)
{
    struct warm_pool *pool = judge_warm_pool(lease->judge, lease->unit, lease->kind);
    int64_t start_ns = clock_now_ns();
    while (pool && lease->reserved_count < processes &&
           warm_pool_take(pool, lease->cancelled, &lease->reserved[lease->reserved_count]))
        lease->reserved_count++;
    lease->waited_ms += clock_ms_since(start_ns);
}

const struct sandboxed *device_lease_next_process(struct device_lease *lease)
{
    return lease->reserved_count > 0 ? &lease->reserved[--lease->reserved_count] : NULL;
}

static struct busy_time *lease_busy_time(struct device_lease *lease)
{
    return lease->unit ? &lease->unit->busy : &lease->judge->cpu_busy;
}

int device_lease_lock(struct device_lease *lease, enum lease_mode mode, struct err *err)
{
    enum device_lock_mode how = mode == LEASE_SHARED ? DEVICE_SHARED : DEVICE_EXCLUSIVE;
    int64_t start_ns = clock_now_ns();
    int result = device_lock_acquire(&lease->lock, lease->judge->locks, device_lease_name(lease),
                                     how, lease->cancelled, err);
    lease->waited_ms += clock_ms_since(start_ns);
    if (result < 0)
        return result;
    lease->held = mode;
    lease->locked_ns = clock_now_ns();
    busy_time_begin(lease_busy_time(lease), how == DEVICE_EXCLUSIVE);
    return 0;
}

void device_lease_unlock(struct device_lease *lease)
{
    if (lease->lock.room >= 0)
        busy_time_end(lease_busy_time(lease));
    if (lease->lock.room >= 0 && lease->unit)
        log_write(LOG_LEVEL_DEBUG, "judge", "GPU %d held for %.0f ms, %s",
                  lease->unit->facts.ordinal, clock_ms_since(lease->locked_ns),
                  lease->held == LEASE_SHARED ? "shared" : "alone");
    device_lock_release(&lease->lock);
    lease->held = LEASE_NONE;
}

void device_lease_release(struct device_lease *lease)
{
    while (lease->reserved_count > 0)
        sandboxed_close(&lease->reserved[--lease->reserved_count]);
    device_lease_unlock(lease);
    device_lease_free_slots(lease);
}
