#include "device/load.h"

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

static uint64_t kilobytes(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    uint64_t count = 0;
    if (!at)
        return 0;
    at += strlen(key);
    return next_number(&at, &count) && count <= UINT64_MAX / 1024 ? count * 1024 : 0;
}

void load_parse_meminfo(const char *text, struct load *load)
{
    load->memory = kilobytes(text, "MemTotal:");
    load->memory_available = kilobytes(text, "MemAvailable:");
}

void load_read(struct load *load)
{
    static const struct {
        const char *path;
        void (*parse)(const char *text, struct load *load);
    } files[] = {{"/proc/stat", load_parse_stat}, {"/proc/meminfo", load_parse_meminfo}};
    *load = (struct load){0};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct err ignored;
        size_t count;
        char *text;
        if (file_read(files[i].path, MOST_BYTES, &text, &count, &ignored) < 0)
            continue;
        files[i].parse(text, load);
        mem_free(text);
    }
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
