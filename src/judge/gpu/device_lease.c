#include "judge/gpu/device_lease.h"

#include "base/clock.h"
#include "base/log.h"

void device_lease_init(struct device_lease *lease, struct gpu_pool *gpus,
                       struct memory_gate *memory, struct busy_time *cpu_busy, const char *locks)
{
    *lease = (struct device_lease){.gpus = gpus,
                                   .memory = memory,
                                   .cpu_busy = cpu_busy,
                                   .locks = locks,
                                   .wanted = LEASE_SHARED,
                                   .turn = DEVICE_TURN(locks, NULL, NULL)};
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

void device_lease_hand_over(struct device_lease *lease, struct device_lease *to)
{
    device_lease_unlock(lease);
    to->unit = lease->unit;
    to->gpu = lease->gpu;
    to->bytes = lease->bytes;
    to->share = lease->share;
    to->slots = lease->slots;
    lease->unit = NULL;
    lease->gpu = NULL;
    lease->slots = 0;
}

bool device_lease_has_company(const struct device_lease *lease)
{
    return lease->unit && lease->wanted != LEASE_ALONE && gpu_pool_shared(lease->gpus, lease->unit);
}

const char *device_lease_name(const struct device_lease *lease)
{
    return lease->gpu ? lease->gpu->facts.uuid : "cpu";
}

static int take_memory(struct device_lease *lease, struct err *err)
{
    uint64_t bytes = lease->wanted == LEASE_ALONE ? MEMORY_GATE_ALL : lease->bytes;
    int64_t start_ns = clock_now_ns();
    int result = memory_gate_take(lease->memory, bytes, &lease->pass, lease->cancelled, err);
    lease->waited_ms += clock_ms_since(start_ns);
    return result;
}

int device_lease_take_slots(struct device_lease *lease, struct err *err)
{
    if (!lease->unit)
        return take_memory(lease, err);
    if (lease->slots > 0)
        return 0;
    int all = lease->gpus->options.slots;
    int share = lease->share > 0 ? lease->share : 1;
    int slots = lease->wanted == LEASE_ALONE || share > all ? all : share;
    int64_t start_ns = clock_now_ns();
    int result = gpu_pool_take_slots(lease->gpus, lease->unit, slots, lease->cancelled, err);
    lease->waited_ms += clock_ms_since(start_ns);
    if (result < 0)
        return result;
    lease->slots = slots;
    atomic_fetch_add(&lease->unit->planned_bytes, lease->bytes);
    log_write(LOG_LEVEL_DEBUG, "judge", "GPU %d: %d of %d slots", lease->unit->facts.ordinal, slots,
              all);
    return 0;
}

void device_lease_free_slots(struct device_lease *lease)
{
    memory_gate_give(lease->memory, &lease->pass);
    if (lease->slots == 0)
        return;
    atomic_fetch_sub(&lease->unit->planned_bytes, lease->bytes);
    gpu_pool_free_slots(lease->gpus, lease->unit, lease->slots);
    lease->slots = 0;
}

static struct busy_time *lease_busy_time(struct device_lease *lease)
{
    return lease->unit ? &lease->unit->busy : lease->cpu_busy;
}

int device_lease_lock(struct device_lease *lease, enum lease_mode mode, struct err *err)
{
    struct device_turn *turn = &lease->turn;
    bool alone = mode != LEASE_SHARED;
    turn->device = device_lease_name(lease);
    turn->cancelled = lease->cancelled;
    int64_t start_ns = clock_now_ns();
    int result = device_turn_begin(turn, alone ? DEVICE_EXCLUSIVE : DEVICE_SHARED, err);
    lease->waited_ms += clock_ms_since(start_ns);
    if (result < 0)
        return result;
    lease->held = mode;
    busy_time_begin(lease_busy_time(lease), alone);
    return 0;
}

/* The lock is given up. */
static void end_use(struct device_lease *lease)
{
    busy_time_end(lease_busy_time(lease));
    if (lease->unit)
        log_write(LOG_LEVEL_DEBUG, "judge", "GPU %d held for %.0f ms, %s",
                  lease->unit->facts.ordinal, clock_ms_since(lease->turn.since_ns),
                  lease->held == LEASE_SHARED ? "shared" : "alone");
    lease->held = LEASE_NONE;
}

void device_lease_unlock(struct device_lease *lease)
{
    if (lease->held == LEASE_NONE)
        return;
    end_use(lease);
    device_turn_end(&lease->turn);
}

bool device_lease_over(const struct device_lease *lease)
{
    return lease->held != LEASE_NONE && device_turn_over(&lease->turn);
}

int device_lease_pass(struct device_lease *lease, struct err *err)
{
    enum lease_mode mode = lease->held;
    int64_t start_ns = clock_now_ns();
    end_use(lease);
    int result = device_turn_pass(&lease->turn, err);
    lease->waited_ms += clock_ms_since(start_ns);
    if (result < 0)
        return result;
    lease->held = mode;
    busy_time_begin(lease_busy_time(lease), mode != LEASE_SHARED);
    return 0;
}

void device_lease_release(struct device_lease *lease)
{
    device_lease_unlock(lease);
    device_lease_free_slots(lease);
}
