#include "judge/devices.h"

#include "judge/context.h"

#include <stdio.h>

static void describe_gpu(struct gpu_pool *pool, const struct gpu_unit *unit,
                         struct judge_device *device)
{
    *device = (struct judge_device){.gpu = true,
                                    .ordinal = unit->facts.ordinal,
                                    .memory_bytes = unit->facts.memory_bytes};
    snprintf(device->name, sizeof device->name, "%s", unit->facts.name);
    snprintf(device->uuid, sizeof device->uuid, "%s", unit->facts.uuid);
    pthread_mutex_lock(&pool->lock);
    device->good = unit->state != GPU_QUARANTINED;
    device->evaluations = unit->evaluations;
    device->used_s = (double)unit->used_ns * 1e-9;
    if (!device->good)
        snprintf(device->why, sizeof device->why, "%.250s", unit->why.text);
    pthread_mutex_unlock(&pool->lock);
}

static void describe_cpu(struct judge_device *device)
{
    struct cpu cpu;
    cpu_detect(&cpu);
    *device = (struct judge_device){.cores = cpu.cores, .good = true};
    snprintf(device->name, sizeof device->name, "%s", cpu.model);
}

size_t judge_devices(struct judge *judge, struct judge_device devices[JUDGE_DEVICES])
{
    struct gpu_pool *pool = &judge->gpus;
    struct err ignored;
    size_t count = 0;
    if (gpu_pool_list(pool, &ignored) == 0)
        while (count < (size_t)pool->count && count + 1 < JUDGE_DEVICES) {
            describe_gpu(pool, &pool->units[count], &devices[count]);
            count++;
        }
    describe_cpu(&devices[count]);
    return count + 1;
}
