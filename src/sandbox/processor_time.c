#include "sandbox/processor_time.h"

#include "base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define OF_PROCESS 2 /* CPUCLOCK_SCHED */

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
