#include "judge/process/cpu_affinity.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

static void sit(pid_t thread, int processor)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(thread, sizeof one, &one);
}

static int next_processor(const struct seat *seat, int processor)
{
    do
        processor = (processor + 1) % CPU_SETSIZE;
    while (!CPU_ISSET(processor, &seat->usable));
    return processor;
}

void seat_take(struct seat *seat, int place)
{
    seat->processor = -1;
    if (sched_getaffinity(0, sizeof seat->usable, &seat->usable) < 0)
        return; /* more processors than a cpu_set_t holds: nobody is placed */
    for (place %= CPU_COUNT(&seat->usable); place >= 0; place--)
        seat->processor = next_processor(seat, seat->processor);
    sit(0, seat->processor);
    prctl(PR_SET_TIMERSLACK, 1UL);
}

void seat_leave(const struct seat *seat)
{
    if (seat->processor < 0)
        return;
    sched_setaffinity(0, sizeof seat->usable, &seat->usable);
    prctl(PR_SET_TIMERSLACK, 0UL); /* back to the default */
}

void seat_assign(const struct seat *seat, pid_t pid)
{
    char path[64];
    int processor = seat->processor;
    if (processor < 0)
        return;
    sit(pid, processor);
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    if (!threads)
        return;
    for (struct dirent *entry; (entry = readdir(threads));) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10); /* 0: `.` and `..` */
        if (thread <= 0 || thread == pid)
            continue;
        processor = next_processor(seat, processor);
        sit(thread, processor);
        sched_setscheduler(thread, SCHED_OTHER, &(struct sched_param){0});
    }
    closedir(threads);
}

void seat_open(const struct seat *seat, pid_t pid)
{
    if (seat->processor >= 0)
        sched_setaffinity(pid, sizeof seat->usable, &seat->usable);
}

void seat_recall(const struct seat *seat, pid_t pid)
{
    if (seat->processor >= 0)
        sit(pid, seat->processor);
}
