#include "sandbox/processor_time.h"

#include "base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OF_PROCESS 2      /* CPUCLOCK_SCHED */
#define TREE_PROCESSES 64 /* looked at, of a tree */
#define UNEXPLAINED_NS INT64_C(2000000000)
#define STAT_CUTIME 14 /* fields of /proc/PID/stat behind its name: cutime, then cstime */

/* clock_getcpuclockid makes the same number, and asks whether there is such a process. */
int64_t processor_time_ns(pid_t pid)
{
    struct timespec used;
    if (clock_gettime((clockid_t)(~(unsigned)pid << 3 | OF_PROCESS), &used) < 0)
        return -1;
    return used.tv_sec * INT64_C(1000000000) + used.tv_nsec;
}

static void for_each_thread(pid_t pid, void (*visit)(pid_t pid, pid_t thread, void *data),
                            void *data)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    if (!threads)
        return;
    for (const struct dirent *thread; (thread = readdir(threads));)
        if (thread->d_name[0] != '.')
            visit(pid, (pid_t)strtol(thread->d_name, NULL, 10), data);
    closedir(threads);
}

/* Where a stopped thread waits in the kernel: to say that, the kernel waits until it has left its
 * processor, and then its time is counted. Where the file cannot be read, to try takes about as
 * long as the thread does. */
static void await_off_processor(pid_t pid, pid_t thread, void *data)
{
    char path[96], text[32];
    (void)data;
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)thread);
    file_read_text(path, text, sizeof text);
}

int64_t processor_time_stopped_ns(pid_t pid)
{
    for_each_thread(pid, await_off_processor, NULL);
    return processor_time_ns(pid);
}

/* A file of one line: "used delayed slices". */
static void add_use(const char *path, struct processor_use *use)
{
    char text[128];
    char *end = text;
    file_read_text(path, text, sizeof text);
    use->used_ns += strtoll(text, &end, 10);
    use->delayed_ns += strtoll(end, NULL, 10);
}

struct processor_use processor_time_first(pid_t pid)
{
    struct processor_use use = {0};
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    add_use(path, &use);
    return use;
}

static void add_thread(pid_t pid, pid_t thread, void *data)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)thread);
    add_use(path, data);
}

struct processor_use processor_time_threads(pid_t pid)
{
    struct processor_use use = {0};
    for_each_thread(pid, add_thread, &use);
    int64_t used_ns = processor_time_ns(pid);
    use.used_ns = used_ns < 0 ? 0 : used_ns;
    return use;
}

/* What children used that have ended and were waited for, and theirs. */
static int64_t used_by_ended(pid_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file_read_text(path, text, sizeof text);
    char *at = strrchr(text, ')'); /* a name may hold anything else */
    for (int i = 0; at && i < STAT_CUTIME; i++)
        at = strchr(at + 1, ' ');
    if (!at)
        return 0;
    int64_t ticks = strtoll(at, &at, 10);
    ticks += strtoll(at, NULL, 10);
    return ticks * (INT64_C(1000000000) / sysconf(_SC_CLK_TCK));
}

struct process_list {
    pid_t pids[TREE_PROCESSES];
    size_t count;
};

static void add_children(pid_t pid, pid_t thread, void *data)
{
    struct process_list *list = data;
    char path[96], text[1024];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)thread);
    file_read_text(path, text, sizeof text);
    for (char *at = text, *end; list->count < TREE_PROCESSES; at = end) {
        pid_t child = (pid_t)strtol(at, &end, 10);
        if (child <= 0)
            break;
        list->pids[list->count++] = child;
    }
}

struct processor_use processor_time_tree(pid_t pid)
{
    struct process_list list = {.pids = {pid}, .count = 1};
    struct processor_use all = {0};
    for (size_t i = 0; i < list.count; i++) {
        const struct processor_use one = processor_time_threads(list.pids[i]);
        all.used_ns += one.used_ns + used_by_ended(list.pids[i]);
        all.delayed_ns += one.delayed_ns;
        for_each_thread(list.pids[i], add_children, &list);
    }
    return all;
}

static int64_t at_least_0(int64_t value)
{
    return value > 0 ? value : 0;
}

/* A process that ended takes its delays along, and what it used if it was not waited for. */
int64_t processor_time_withheld(struct processor_use before, struct processor_use now,
                                int64_t elapsed_ns, int64_t *idle_ns)
{
    int64_t used_ns = at_least_0(now.used_ns - before.used_ns);
    int64_t delayed_ns = at_least_0(now.delayed_ns - before.delayed_ns);
    *idle_ns += at_least_0(elapsed_ns - used_ns);
    if (*idle_ns > UNEXPLAINED_NS)
        *idle_ns = UNEXPLAINED_NS;
    int64_t withheld_ns = delayed_ns < *idle_ns ? delayed_ns : *idle_ns;
    *idle_ns -= withheld_ns;
    return withheld_ns;
}
