#include "judge/devices.h"

#include "device/cpu.h"
#include "judge/judge_internal.h"

#include <stdio.h>

static void read_busy_time(struct busy_time *busy, struct judge_device *device)
{
    struct busy_times times = busy_time_read(busy);
    device->busy_s = times.busy_s;
    device->exclusive_s = times.alone_s;
}

static void describe_gpu(struct gpu_pool *pool, struct gpu_unit *unit, struct judge_device *device)
{
    *device = (struct judge_device){.gpu = true,
                                    .ordinal = unit->facts.ordinal,
                                    .facts = unit->facts,
                                    .memory_bytes = unit->facts.memory_bytes};
    snprintf(device->name, sizeof device->name, "%s", unit->facts.name);
    snprintf(device->uuid, sizeof device->uuid, "%s", unit->facts.uuid);
    pthread_mutex_lock(&pool->lock);
    device->good = unit->state != GPU_QUARANTINED;
    device->evaluations = unit->evaluations;
    if (!device->good)
        snprintf(device->why, sizeof device->why, "%.250s", unit->why.text);
    pthread_mutex_unlock(&pool->lock);
    read_busy_time(&unit->busy, device);
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
    read_busy_time(&judge->cpu_busy, &devices[count]);
    return count + 1;
}

_Static_assert(JUDGE_STANDBYS == SERVER_COUNT, "one place for each server");

size_t judge_standbys(struct judge *judge, struct judge_standby standbys[JUDGE_STANDBYS])
{
    size_t count = 0;
    for (enum server_kind kind = 0; kind < SERVER_COUNT; kind++) {
        struct standby *server;
        const char *name = spawner_server(&judge->spawner, kind, &server);
        if (server)
            standbys[count++] = (struct judge_standby){name, standby_look(server)};
    }
    return count;
}
