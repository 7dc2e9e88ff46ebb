#include "device/cpu.h"

#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CPUS_MAX 8192
#define SYSTEM_CPU "/sys/devices/system/cpu"

/* A small text file of the kernel into `text`; "" when it cannot be read. */
static void read_text(const char *path, char *text, size_t text_bytes)
{
    file_read_text(path, text, text_bytes);
    size_t used = strlen(text);
    if (used > 0 && text[used - 1] == '\n')
        text[used - 1] = '\0';
}

/* The number that the text begins with, 0 where there is none. */
static double number_of(const char *text)
{
    char *end;
    double number = strtod(text, &end);
    return end == text ? 0 : number;
}

struct cpuinfo {
    char text[32768]; /* the first processor's block */
};

static void cpuinfo_read(struct cpuinfo *info)
{
    read_text("/proc/cpuinfo", info->text, sizeof info->text);
    char *end = strstr(info->text, "\n\n");
    if (end)
        *end = '\0';
}

/* The value of "name<tabs>: value", not terminated; its length in *length. NULL: no such line. */
static const char *cpuinfo_find(const struct cpuinfo *info, const char *name, size_t *length)
{
    size_t name_length = strlen(name);
    for (const char *line = info->text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, name_length) != 0)
            continue;
        const char *at = line + name_length + strspn(line + name_length, " \t");
        if (*at != ':')
            continue;
        at += 1 + strspn(at + 1, " \t");
        *length = strcspn(at, "\n");
        return at;
    }
    return NULL;
}

/* The first of the names (NULL-terminated) that has a value, copied; false: none. */
static bool cpuinfo_copy(const struct cpuinfo *info, const char *const *names, char *text,
                         size_t text_bytes)
{
    for (; *names; names++) {
        size_t length;
        const char *value = cpuinfo_find(info, *names, &length);
        if (value && length > 0) {
            snprintf(text, text_bytes, "%.*s", (int)length, value);
            return true;
        }
    }
    *text = '\0';
    return false;
}

static const char *const flag_lines[] = {"flags", "Features", "isa", "features", NULL};

static bool flags_hold(const char *flags, const char *flag)
{
    size_t length = strlen(flag);
    for (const char *at = flags; (at = strstr(at, flag)); at += length) {
        bool starts = at == flags || at[-1] == ' ';
        if (starts && (at[length] == ' ' || at[length] == '\0'))
            return true;
    }
    return false;
}

bool cpu_has_flag(const char *flag)
{
    struct cpuinfo info;
    char flags[8192];
    cpuinfo_read(&info);
    return cpuinfo_copy(&info, flag_lines, flags, sizeof flags) && flags_hold(flags, flag);
}

/* "AuthenticAMD/25/17/1", or what other architectures say in its place. */
static void identity_of(const struct cpuinfo *info, char *text, size_t text_bytes)
{
    static const char *const parts[][3] = {
        {"vendor_id", "CPU implementer", NULL},
        {"cpu family", "CPU architecture", NULL},
        {"model", "CPU part", NULL},
        {"stepping", "CPU revision", NULL},
    };
    size_t used = 0;
    *text = '\0';
    for (size_t i = 0; i < COUNT(parts) && used < text_bytes; i++) {
        char value[32];
        if (cpuinfo_copy(info, parts[i], value, sizeof value))
            used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", used ? "/" : "",
                                     value);
    }
}

static void make_key(struct cpu *cpu, const struct cpuinfo *info)
{
    static const char *const shown[] = {"avx2",        "fma",         "avx512f",  "avx512_vnni",
                                        "avx512_bf16", "avx512_fp16", "amx_bf16", "asimd",
                                        "sve",         "sve2",        "i8mm",     "bf16"};
    char identity[96], flags[8192], hex[HASH_HEX_BYTES];
    identity_of(info, identity, sizeof identity);
    cpuinfo_copy(info, flag_lines, flags, sizeof flags);
    uint64_t sizes[] = {cpu->l1_bytes, cpu->l2_bytes, cpu->l3_bytes, (uint64_t)cpu->line_bytes};
    struct hash *hash = hash_new();
    hash_update_string(hash, identity);
    hash_update_string(hash, cpu->model);
    hash_update_string(hash, flags);
    hash_update(hash, sizes, sizeof sizes);
    hash_finish(hash, hex);
#if defined(__x86_64__)
    const char *architecture = "x86_64";
#elif defined(__aarch64__)
    const char *architecture = "aarch64";
#else
    const char *architecture = "other";
#endif
    size_t capacity = sizeof cpu->key - sizeof " #0123456789abcdef";
    size_t used = (size_t)snprintf(cpu->key, capacity, "%s %s", architecture, identity);
    for (size_t i = 0; i < COUNT(shown) && used < capacity; i++)
        if (flags_hold(flags, shown[i]))
            used += (size_t)snprintf(cpu->key + used, capacity - used, " %s", shown[i]);
    used = strlen(cpu->key);
    snprintf(cpu->key + used, sizeof cpu->key - used, " #%.16s", hex);
}

void cpu_list_add(const char *list, size_t set_bytes, cpu_set_t *set)
{
    while (*list) {
        char *end;
        long first = strtol(list, &end, 10);
        if (end == list)
            return;
        long last = first;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        for (long i = first; i >= 0 && i <= last && i < CPUS_MAX; i++)
            CPU_SET_S((size_t)i, set_bytes, set);
        list = end + (*end == ',');
    }
}

static void cache_file(int processor, int index, const char *file, char *text, size_t text_bytes)
{
    char path[128];
    snprintf(path, sizeof path, SYSTEM_CPU "/cpu%d/cache/index%d/%s", processor, index, file);
    read_text(path, text, text_bytes);
}

/* "32K", "8192K", "1M" */
static uint64_t size_of(const char *text)
{
    char *end;
    uint64_t size = strtoull(text, &end, 10);
    return *end == 'K' ? size << 10 : *end == 'M' ? size << 20 : *end == 'G' ? size << 30 : size;
}

/* One cache of one processor; `seen` holds, for each level, the processors whose cache is
 * counted. */
static void detect_cache(struct cpu *cpu, int processor, int index, cpu_set_t *const seen[3])
{
    char text[1024];
    cache_file(processor, index, "level", text, sizeof text);
    int level = (int)number_of(text);
    cache_file(processor, index, "type", text, sizeof text);
    if (level < 1 || level > 3 || strcmp(text, "Instruction") == 0)
        return;
    if (CPU_ISSET_S((size_t)processor, CPU_ALLOC_SIZE(CPUS_MAX), seen[level - 1]))
        return;
    cache_file(processor, index, "shared_cpu_list", text, sizeof text);
    CPU_SET_S((size_t)processor, CPU_ALLOC_SIZE(CPUS_MAX), seen[level - 1]);
    cpu_list_add(text, CPU_ALLOC_SIZE(CPUS_MAX), seen[level - 1]);
    cache_file(processor, index, "size", text, sizeof text);
    uint64_t size = size_of(text);
    uint64_t *one[] = {&cpu->l1_bytes, &cpu->l2_bytes, &cpu->l3_bytes};
    uint64_t *all[] = {&cpu->l1_total, &cpu->l2_total, &cpu->l3_total};
    *all[level - 1] += size;
    if (size > *one[level - 1])
        *one[level - 1] = size;
    cache_file(processor, index, "coherency_line_size", text, sizeof text);
    if (cpu->line_bytes == 0)
        cpu->line_bytes = (int)number_of(text);
}

static void detect_caches(struct cpu *cpu, const cpu_set_t *mine)
{
    cpu_set_t *seen[3];
    for (int level = 0; level < 3; level++) {
        seen[level] = CPU_ALLOC(CPUS_MAX);
        if (seen[level])
            CPU_ZERO_S(CPU_ALLOC_SIZE(CPUS_MAX), seen[level]);
    }
    if (seen[0] && seen[1] && seen[2])
        for (int processor = 0; processor < CPUS_MAX; processor++)
            if (CPU_ISSET_S((size_t)processor, CPU_ALLOC_SIZE(CPUS_MAX), mine))
                for (int index = 0; index < 5; index++)
                    detect_cache(cpu, processor, index, seen);
    for (int level = 0; level < 3; level++)
        CPU_FREE(seen[level]);
}

/* cpu.max of one control group: "150000 100000" or "max 100000"; CPUs' worth, 0: no bound. */
static double quota_at(const char *group)
{
    char path[4200], text[64];
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
    read_text(path, text, sizeof text);
    double quota = number_of(text); /* 0 for "max" */
    double period = number_of(text + strcspn(text, " "));
    return period > 0 ? quota / period : 0;
}

/* The smallest bound of our control group and all above it (cgroups(7), version 2). */
static double detect_quota(void)
{
    char groups[4096];
    read_text("/proc/self/cgroup", groups, sizeof groups);
    char *line = strstr(groups, "0::/");
    if (!line)
        return 0;
    char *group = line + 3;
    group[strcspn(group, "\n")] = '\0';
    double smallest = 0;
    for (;;) {
        double quota = quota_at(strcmp(group, "/") == 0 ? "" : group);
        if (quota > 0 && (smallest == 0 || quota < smallest))
            smallest = quota;
        char *slash = strrchr(group, '/');
        if (!slash || *group == '\0')
            return smallest;
        *slash = '\0';
    }
}

static void detect_frequency(struct cpu *cpu, const struct cpuinfo *info, int processor)
{
    static const char *const names[] = {"cpu MHz", NULL};
    char path[128], text[64];
    snprintf(path, sizeof path, SYSTEM_CPU "/cpu%d/cpufreq/scaling_governor", processor);
    read_text(path, cpu->governor, sizeof cpu->governor);
    snprintf(path, sizeof path, SYSTEM_CPU "/cpu%d/cpufreq/scaling_cur_freq", processor);
    read_text(path, text, sizeof text);
    cpu->frequency_mhz = number_of(text) / 1000;
    snprintf(path, sizeof path, SYSTEM_CPU "/cpu%d/cpufreq/cpuinfo_max_freq", processor);
    read_text(path, text, sizeof text);
    cpu->frequency_max_mhz = number_of(text) / 1000;
    if (cpu->frequency_mhz == 0 && cpuinfo_copy(info, names, text, sizeof text))
        cpu->frequency_mhz = number_of(text);
}

void cpu_detect(struct cpu *cpu)
{
    static const char *const model_lines[] = {"model name", "Processor", "cpu model", "uarch",
                                              NULL};
    struct cpuinfo info;
    *cpu = (struct cpu){0};
    cpuinfo_read(&info);
    if (!cpuinfo_copy(&info, model_lines, cpu->model, sizeof cpu->model))
        snprintf(cpu->model, sizeof cpu->model, "unknown");
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    cpu->cores_online = online > 0 ? (int)online : 1;
    cpu->cores = cpu->cores_online;
    int first = 0;
    cpu_set_t *mine = CPU_ALLOC(CPUS_MAX);
    if (mine && sched_getaffinity(0, CPU_ALLOC_SIZE(CPUS_MAX), mine) == 0) {
        cpu->cores = CPU_COUNT_S(CPU_ALLOC_SIZE(CPUS_MAX), mine);
        while (!CPU_ISSET_S((size_t)first, CPU_ALLOC_SIZE(CPUS_MAX), mine))
            first++;
        detect_caches(cpu, mine);
    }
    CPU_FREE(mine);
    cpu->quota = detect_quota();
    detect_frequency(cpu, &info, first);
    make_key(cpu, &info);
}
