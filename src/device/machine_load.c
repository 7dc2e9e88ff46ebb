#include "device/machine_load.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((size_t)1 << 20) /* /proc/stat grows with interrupts and processors */

/* False: there is no number, or one that no counter has. */
static bool next_number(const char **at, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(*at, &end, 10);
    bool found = end != *at && errno == 0;
    *at = end;
    return found;
}

/* user nice system idle iowait irq softirq steal; what guests take is within user and nice. */
void load_parse_stat(const char *text, struct load *load)
{
    uint64_t ticks[8] = {0};
    size_t count = 0;
    load->busy = load->all = 0;
    if (strncmp(text, "cpu ", 4) != 0)
        return;
    text += 4;
    while (count < 8 && *(text += strspn(text, " ")) != '\n' && next_number(&text, &ticks[count]))
        count++;
    if (count < 4)
        return;
    for (size_t i = 0; i < count; i++)
        load->all += ticks[i];
    load->busy = load->all - ticks[3] - ticks[4];
}

/* The number behind the key, 0 where there is none. */
static uint64_t number_behind(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    uint64_t number = 0;
    if (!at)
        return 0;
    at += strlen(key);
    return next_number(&at, &number) ? number : 0;
}

static uint64_t read_kilobytes(const char *text, const char *key)
{
    uint64_t count = number_behind(text, key);
    return count <= UINT64_MAX / 1024 ? count * 1024 : 0;
}

void load_parse_meminfo(const char *text, struct load *load)
{
    load->memory = read_kilobytes(text, "MemTotal:");
    load->memory_available = read_kilobytes(text, "MemAvailable:");
}

static void read_part(const char *path, void (*parse)(const char *text, struct load *load),
                      struct load *load)
{
    struct err ignored;
    size_t count;
    char *text;
    if (file_read(path, MOST_BYTES, &text, &count, &ignored) < 0)
        return;
    parse(text, load);
    mem_free(text);
}

void load_read(struct load *load)
{
    *load = (struct load){0};
    read_part("/proc/stat", load_parse_stat, load);
    read_part("/proc/meminfo", load_parse_meminfo, load);
}

struct group_kind {
    const char *mount, *limit, *usage;
    const char *caches[2]; /* lines of memory.stat */
};

static const struct group_kind group_kinds[2] = {
    {"/sys/fs/cgroup", "memory.max", "memory.current", {"\ninactive_file ", "\nactive_file "}},
    {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     .caches = {"\ntotal_inactive_file ", "\ntotal_active_file "}},
};

/* DIRECTORY/name (mem_free); NULL: it is not there. */
static char *text_of(const char *directory, const char *name)
{
    char *path = mem_printf("%s/%s", directory, name), *text = NULL;
    struct err ignored;
    size_t count;
    if (file_read(path, MOST_BYTES, &text, &count, &ignored) < 0)
        text = NULL;
    mem_free(path);
    return text;
}

static bool number_of(const char *directory, const char *name, uint64_t *number)
{
    char *text = text_of(directory, name);
    const char *at = text;
    bool found = text && next_number(&at, number); /* "max" is none */
    mem_free(text);
    return found;
}

static uint64_t cached_bytes(const struct group_kind *kind, const char *directory)
{
    char *text = text_of(directory, "memory.stat");
    uint64_t sum = 0;
    for (size_t i = 0; text && i < 2; i++)
        sum += number_behind(text, kind->caches[i]);
    mem_free(text);
    return sum;
}

static uint64_t group_available(const struct group_kind *kind, const char *directory)
{
    uint64_t limit, usage = 0;
    if (!number_of(directory, kind->limit, &limit))
        return UINT64_MAX;
    if (!number_of(directory, kind->usage, &usage))
        usage = 0;
    uint64_t cached = cached_bytes(kind, directory);
    usage -= cached < usage ? cached : usage;
    return limit > usage ? limit - usage : 0;
}

/* The least of `group` and those that it lies in. */
static uint64_t groups_available(const struct group_kind *kind, const char *root, const char *group)
{
    char *path = mem_printf("%s%s%s", root, kind->mount, group);
    size_t top = strlen(root) + strlen(kind->mount);
    uint64_t least = UINT64_MAX;
    for (;;) {
        uint64_t left = group_available(kind, path);
        char *slash = strrchr(path + top, '/');
        least = left < least ? left : least;
        if (!slash)
            break;
        *slash = '\0';
    }
    mem_free(path);
    return least;
}

/* Lines "0::/path" (version 2) and "4:memory:/path". */
uint64_t load_group_available(const char *root)
{
    char *directory = mem_printf("%s/proc/self", root);
    char *text = text_of(directory, "cgroup"), *rest = text;
    uint64_t least = UINT64_MAX;
    for (char *line; text && (line = strsep(&rest, "\n"));) {
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        bool memory = strcmp(controllers + 1, "memory") == 0;
        if (!memory && controllers[1])
            continue;
        uint64_t left = groups_available(&group_kinds[memory], root, group);
        least = left < least ? left : least;
    }
    mem_free(text);
    mem_free(directory);
    return least;
}

double load_cpu_percent(const struct load *before, const struct load *now)
{
    if (now->all <= before->all || now->busy < before->busy)
        return -1;
    double percent = 100.0 * (double)(now->busy - before->busy) / (double)(now->all - before->all);
    return percent > 100 ? 100 : percent;
}

double load_memory_percent(const struct load *load)
{
    if (load->memory == 0 || load->memory_available > load->memory)
        return -1;
    return 100 * (1 - (double)load->memory_available / (double)load->memory);
}

uint64_t load_parse_kills(const char *text)
{
    return number_behind(text, "\noom_kill ");
}

uint64_t load_memory_kills(void)
{
    char *text = text_of("/proc", "vmstat");
    uint64_t count = text ? load_parse_kills(text) : 0;
    mem_free(text);
    return count;
}

uint64_t load_available_bytes(void)
{
    struct load load = {0};
    read_part("/proc/meminfo", load_parse_meminfo, &load);
    uint64_t group = load_group_available("");
    bool bound = group < UINT64_MAX &&
                 (load.memory_available == 0 || group < load.memory_available);
    return bound ? group : load.memory_available;
}
