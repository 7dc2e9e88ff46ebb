#include "judge/devices.h"

#include "device/cpu.h"
#include "judge/judge_internal.h"

#include <stdio.h>

static void tell_use(struct busy_time *busy, struct judge_device *device)
{
    struct busy_times times = busy_time_read(busy);
    device->busy_s = times.busy_s;
    device->exclusive_s = times.alone_s;
}

static void describe_gpu(struct gpu_pool *pool, struct gpu_unit *unit, struct judge_device *device)
{
    *device = (struct judge_device){.gpu = true,
                                    .ordinal = unit->facts.ordinal,
                                    .memory_bytes = unit->facts.memory_bytes};
    snprintf(device->name, sizeof device->name, "%s", unit->facts.name);
    snprintf(device->uuid, sizeof device->uuid, "%s", unit->facts.uuid);
    pthread_mutex_lock(&pool->lock);
    device->good = unit->state != GPU_QUARANTINED;
    device->evaluations = unit->evaluations;
    if (!device->good)
        snprintf(device->why, sizeof device->why, "%.250s", unit->why.text);
    pthread_mutex_unlock(&pool->lock);
    tell_use(&unit->busy, device);
    for (int kind = 0; kind < SANDBOX_BUILD; kind++)
        device->ready += warm_pool_count(unit->warm[kind]);
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
    tell_use(&judge->cpu_busy, &devices[count]);
    return count + 1;
}

size_t judge_standbys(struct judge *judge, struct judge_standby standbys[JUDGE_STANDBYS])
{
    size_t count = 0;
    pthread_mutex_lock(&judge->lock);
    const struct {
        const char *name;
        struct standby *server;
    } all[JUDGE_STANDBYS] = {{"native", judge->native},
                             {"torch", judge->torch},
                             {"cuda", judge->cuda},
                             {"torch_cuda", judge->torch_cuda},
                             {"nvrtc", judge->nvrtc}};
    pthread_mutex_unlock(&judge->lock);
    for (size_t i = 0; i < JUDGE_STANDBYS; i++)
        if (all[i].server)
            standbys[count++] = (struct judge_standby){all[i].name, standby_look(all[i].server)};
    return count;
}
