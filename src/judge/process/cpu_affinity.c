#include "judge/process/cpu_affinity.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

static void pin_thread(pid_t thread, int processor)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(thread, sizeof one, &one);
}

static int next_processor(const struct cpu_affinity *affinity, int processor)
{
    do
        processor = (processor + 1) % CPU_SETSIZE;
    while (!CPU_ISSET(processor, &affinity->usable));
    return processor;
}

static void sit_down(struct cpu_affinity *affinity, int processor)
{
    affinity->processor = processor;
    affinity->plain = (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_OTHER;
    pin_thread(0, processor);
    prctl(PR_SET_TIMERSLACK, 1UL);
}

void cpu_affinity_pin(struct cpu_affinity *affinity, int place)
{
    *affinity = (struct cpu_affinity){.processor = -1};
    if (sched_getaffinity(0, sizeof affinity->usable, &affinity->usable) < 0)
        return; /* more processors than a cpu_set_t holds: nothing is pinned */
    int processor = -1;
    for (place %= CPU_COUNT(&affinity->usable); place >= 0; place--)
        processor = next_processor(affinity, processor);
    sit_down(affinity, processor);
}

void cpu_affinity_pin_to(struct cpu_affinity *affinity, int processor)
{
    *affinity = (struct cpu_affinity){.processor = -1, .own = true};
    if (sched_getaffinity(0, sizeof affinity->usable, &affinity->usable) == 0)
        sit_down(affinity, processor);
}

void cpu_affinity_unpin(const struct cpu_affinity *affinity)
{
    if (affinity->processor < 0)
        return;
    sched_setaffinity(0, sizeof affinity->usable, &affinity->usable);
    prctl(PR_SET_TIMERSLACK, 0UL); /* back to the default */
}

void cpu_affinity_place(const struct cpu_affinity *affinity, pid_t pid)
{
    char path[64];
    int processor = affinity->processor;
    if (processor < 0)
        return;
    pin_thread(pid, processor);
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    if (!threads)
        return;
    for (struct dirent *entry; (entry = readdir(threads));) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10); /* 0: `.` and `..` */
        if (thread <= 0 || thread == pid)
            continue;
        processor = next_processor(affinity, processor);
        pin_thread(thread, processor);
        sched_setscheduler(thread, SCHED_OTHER, &(struct sched_param){0});
    }
    closedir(threads);
}

void cpu_affinity_release_main(const struct cpu_affinity *affinity, pid_t pid)
{
    if (affinity->processor >= 0 && !affinity->own)
        sched_setaffinity(pid, sizeof affinity->usable, &affinity->usable);
}

void cpu_affinity_hurry(const struct cpu_affinity *affinity, bool on)
{
    struct sched_param priority = {.sched_priority = on};
    int policy = on ? SCHED_FIFO : SCHED_OTHER;
    if (affinity->processor >= 0 && affinity->plain)
        sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &priority);
}

void cpu_affinity_recall_main(const struct cpu_affinity *affinity, pid_t pid)
{
    if (affinity->processor >= 0)
        pin_thread(pid, affinity->processor);
}
