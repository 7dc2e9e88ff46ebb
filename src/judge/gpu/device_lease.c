#include "judge/gpu/device_lease.h"

#include "base/clock.h"
#include "base/log.h"

void device_lease_init(struct device_lease *lease, struct gpu_pool *gpus,
                       struct busy_time *cpu_busy, const char *locks)
{
    *lease = (struct device_lease){.gpus = gpus,
                                   .cpu_busy = cpu_busy,
                                   .locks = locks,
                                   .wanted = LEASE_SHARED,
                                   .lock = DEVICE_LOCK_NONE};
}

int device_lease_take_gpu(struct device_lease *lease, struct err *err)
{
    int result = gpu_pool_take(lease->gpus, lease->before, &lease->unit, err);
    if (result == 0)
        lease->gpu = gpu_unit_context(lease->unit);
    return result;
}

void device_lease_return_gpu(struct device_lease *lease)
{
    gpu_pool_give_back(lease->gpus, lease->unit);
    lease->before = lease->unit;
    lease->unit = NULL;
    lease->gpu = NULL;
}

const char *device_lease_name(const struct device_lease *lease)
{
    return lease->gpu ? lease->gpu->facts.uuid : "cpu";
}

int device_lease_take_slots(struct device_lease *lease, struct err *err)
{
    int slots = lease->wanted == LEASE_ALONE ? lease->gpus->options.slots : 1;
    if (!lease->unit || lease->slots > 0)
        return 0;
    int64_t start_ns = clock_now_ns();
    int result = gpu_pool_take_slots(lease->gpus, lease->unit, slots, lease->cancelled, err);
    lease->waited_ms += clock_ms_since(start_ns);
    if (result == 0)
        lease->slots = slots;
    return result;
}

void device_lease_free_slots(struct device_lease *lease)
{
    if (lease->slots == 0)
        return;
    gpu_pool_free_slots(lease->gpus, lease->unit, lease->slots);
    lease->slots = 0;
}

static struct busy_time *lease_busy_time(struct device_lease *lease)
{
    return lease->unit ? &lease->unit->busy : lease->cpu_busy;
}

int device_lease_lock(struct device_lease *lease, enum lease_mode mode, struct err *err)
{
    enum device_lock_mode how = mode == LEASE_SHARED ? DEVICE_SHARED : DEVICE_EXCLUSIVE;
    int64_t start_ns = clock_now_ns();
    int result = device_lock_acquire(&lease->lock, lease->locks, device_lease_name(lease), how,
                                     lease->cancelled, err);
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
    bool held = lease->lock.held >= 0;
    if (held)
        busy_time_end(lease_busy_time(lease));
    device_lock_release(&lease->lock);
    if (held && lease->unit)
        log_write(LOG_LEVEL_DEBUG, "judge", "GPU %d held for %.0f ms, %s",
                  lease->unit->facts.ordinal, clock_ms_since(lease->locked_ns),
                  lease->held == LEASE_SHARED ? "shared" : "alone");
    lease->held = LEASE_NONE;
}

void device_lease_release(struct device_lease *lease)
{
    device_lease_unlock(lease);
    device_lease_free_slots(lease);
}
