#include "judge/process/cpu_affinity.h"

#include "base/mem.h"
#include "sandbox/processor_time.h"

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

struct worker {
    pid_t thread;
    int64_t used_ns; /* processor time */
};

/* All threads but the first. */
static size_t list_workers(pid_t pid, struct worker **workers)
{
    char path[64];
    size_t count = 0, capacity = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    if (!threads)
        return 0;
    for (struct dirent *entry; (entry = readdir(threads));) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10); /* 0: `.` and `..` */
        if (thread <= 0 || thread == pid)
            continue;
        if (count == capacity)
            *workers = mem_resize(*workers, (capacity = 2 * capacity + 16) * sizeof **workers);
        (*workers)[count++] = (struct worker){.thread = thread};
    }
    closedir(threads);
    return count;
}

static int busier_first(const void *left, const void *right)
{
    const struct worker *a = left;
    const struct worker *b = right;
    return a->used_ns != b->used_ns ? (a->used_ns < b->used_ns) - (a->used_ns > b->used_ns)
                                    : (a->thread > b->thread) - (a->thread < b->thread);
}

/* Where not all get a processor of their own, threads that have computed go first: one that only
 * waits would take a processor from one that computes, which then shares another's. */
static void order_workers(struct worker *workers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        workers[i].used_ns = processor_time_first(workers[i].thread).used_ns;
    qsort(workers, count, sizeof *workers, busier_first);
}

void cpu_affinity_place(const struct cpu_affinity *affinity, pid_t pid)
{
    struct worker *workers = NULL;
    int processor = affinity->processor;
    if (processor < 0)
        return;
    pin_thread(pid, processor);
    size_t count = list_workers(pid, &workers);
    if (!workers)
        return;
    if (count >= (size_t)CPU_COUNT(&affinity->usable))
        order_workers(workers, count);
    for (size_t i = 0; i < count; i++) {
        processor = next_processor(affinity, processor);
        if (processor == affinity->processor)
            processor = next_processor(affinity, processor);
        pin_thread(workers[i].thread, processor);
        sched_setscheduler(workers[i].thread, SCHED_OTHER, &(struct sched_param){0});
    }
    mem_free(workers);
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
