/* machine_load: how busy this machine is, from /proc/stat and /proc/meminfo (proc(5)), and what its
 * control groups leave (cgroups(7)). Plain data. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Processor time of all processors together since the machine started, in the kernel's ticks. */
struct load {
    uint64_t busy, all;                /* both 0: not to be read */
    uint64_t memory, memory_available; /* bytes; 0: not to be read */
};

void load_read(struct load *load);
/* Of what passed between the two readings, 0 to 100; negative where nothing did. */
double load_cpu_percent(const struct load *before, const struct load *now);
double load_memory_percent(const struct load *load); /* negative: not known */

/* Bytes that a process here may still take: of this machine, or what its control groups leave, if
 * that is less. 0: not known. */
uint64_t load_available_bytes(void);
/* Processes that the system ended since it started because memory ran out, of all groups; 0: not
 * known. */
uint64_t load_memory_kills(void);
/* Bytes that this process's control group and those around it leave before one of them kills, what
 * can be dropped of files not counted; UINT64_MAX: there is no bound. `root` stands before all
 * paths: "" but in tests. */
uint64_t load_group_available(const char *root);

/* The parts that take text: of /proc/stat, of /proc/meminfo and of /proc/vmstat. */
void load_parse_stat(const char *text, struct load *load);
void load_parse_meminfo(const char *text, struct load *load);
uint64_t load_parse_kills(const char *text);
