#include "judge/process/gpu_cores.h"

#include "device/cpu.h"

#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 4 /* processors for each GPU */

int gpu_cores_wanted(void)
{
    static const char name[] = "nvidia";
    int count = 0;
    DIR *devices = opendir("/dev");
    for (struct dirent *entry; devices && (entry = readdir(devices));)
        count += strncmp(entry->d_name, name, sizeof name - 1) == 0 &&
                 isdigit((unsigned char)entry->d_name[sizeof name - 1]);
    if (devices)
        closedir(devices);
    return count;
}

/* Takes the processors of its core out of the set. */
static void leave_core(int processor, cpu_set_t *left)
{
    char path[96];
    char list[256] = "";
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(processor, &core);
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             processor);
    FILE *file = fopen(path, "re");
    if (file && fgets(list, sizeof list, file))
        cpu_list_add(list, sizeof core, &core);
    if (file)
        fclose(file);
    CPU_AND(&core, &core, left);
    CPU_XOR(left, left, &core);
}

void gpu_cores_choose(struct gpu_cores *cores, int count, cpu_set_t *processors)
{
    cores->count = 0;
    if (count > GPU_CORES || CPU_COUNT(processors) < LEAST * count)
        return;
    for (int at = CPU_SETSIZE - 1; at >= 0 && cores->count < count; at--)
        if (CPU_ISSET(at, processors)) {
            cores->processors[cores->count++] = at;
            leave_core(at, processors);
        }
}

void gpu_cores_keep(struct gpu_cores *cores, int count)
{
    cpu_set_t left;
    cores->count = 0;
    if (sched_getaffinity(0, sizeof left, &left) < 0)
        return;
    gpu_cores_choose(cores, count, &left);
    if (cores->count > 0 && sched_setaffinity(0, sizeof left, &left) < 0)
        cores->count = 0;
}

int gpu_cores_of(const struct gpu_cores *cores, int ordinal)
{
    return cores->count > 0 && ordinal >= 0 ? cores->processors[ordinal % cores->count] : -1;
}
