#include "judge/process/gpu_cores.h"

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

/* Takes the processors of its core out of the set: a list as "7,71" or "14-15". */
static void leave_core(int processor, cpu_set_t *left)
{
    char path[96];
    int first;
    CPU_CLR(processor, left);
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             processor);
    FILE *list = fopen(path, "re");
    while (list && fscanf(list, "%d", &first) == 1) {
        int last = first;
        int next = fgetc(list);
        if (next == '-' && fscanf(list, "%d", &last) == 1)
            next = fgetc(list);
        for (int at = first; at >= 0 && at <= last && at < CPU_SETSIZE; at++)
            CPU_CLR(at, left);
        if (next != ',')
            break;
    }
    if (list)
        fclose(list);
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
