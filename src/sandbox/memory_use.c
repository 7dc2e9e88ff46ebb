#include "sandbox/memory_use.h"

#include "base/array.h"
#include "base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_BYTES 8192
#define FAMILY 1024 /* processes; a sandbox allows fewer */

/* "\nRssAnon:\t    1024 kB\n"; a process's name, which it chooses, comes without line breaks. */
static uint64_t read_field(const char *status, const char *name)
{
    const char *at = strstr(status, name);
    return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

uint64_t memory_use_of_status(const char *status)
{
    static const char *const kept[] = {"\nRssAnon:", "\nRssShmem:", "\nVmSwap:", "\nVmPTE:"};
    uint64_t files = read_field(status, "\nRssFile:");
    uint64_t bytes = files > MEMORY_USE_FILE_BYTES ? files - MEMORY_USE_FILE_BYTES : 0;
    for (size_t i = 0; i < COUNT(kept); i++)
        bytes += read_field(status, kept[i]);
    return bytes;
}

static void read_status(pid_t pid, char text[STATUS_BYTES])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    file_read_text(path, text, STATUS_BYTES);
}

static uint64_t bytes_of(pid_t pid)
{
    char text[STATUS_BYTES];
    read_status(pid, text);
    return memory_use_of_status(text);
}

uint64_t memory_use_peak_bytes(pid_t pid)
{
    char text[STATUS_BYTES];
    read_status(pid, text);
    return read_field(text, "\nVmHWM:");
}

/* Appends the children of one thread. */
static size_t add_children(pid_t pid, long thread, pid_t *family, size_t count)
{
    char path[96];
    char text[STATUS_BYTES];
    char *at = text;
    snprintf(path, sizeof path, "/proc/%d/task/%ld/children", (int)pid, thread);
    file_read_text(path, text, sizeof text);
    while (count < FAMILY) {
        char *end;
        long child = strtol(at, &end, 10);
        if (end == at)
            break;
        family[count++] = (pid_t)child;
        at = end;
    }
    return count;
}

static size_t add_generation(pid_t pid, pid_t *family, size_t count)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    if (!threads)
        return count;
    for (struct dirent *entry; (entry = readdir(threads));) {
        long thread = strtol(entry->d_name, NULL, 10); /* 0: `.` and `..` */
        if (thread > 0)
            count = add_children(pid, thread, family, count);
    }
    closedir(threads);
    return count;
}

uint64_t memory_use_bytes(pid_t pid, bool with_family)
{
    pid_t family[FAMILY] = {pid};
    size_t count = 1;
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += bytes_of(family[i]);
        if (with_family)
            count = add_generation(family[i], family, count);
    }
    return bytes;
}
