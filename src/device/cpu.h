/* cpu: what the processor of this machine is, as far as this process may use it.
 *
 * Everything is read from /proc and /sys; what cannot be read is 0 or "". Plain data, no ownership.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPU_KEY_BYTES 192

struct cpu {
    char model[128];  /* "AMD EPYC 9654 96-Core Processor"; "unknown" at worst */
    int cores;        /* logical, in this process's affinity mask; at least 1 */
    int cores_online; /* of the machine */
    double quota;     /* CPUs' worth of time that the cgroup grants; 0: no bound */
    int line_bytes;
    uint64_t l1_bytes, l2_bytes, l3_bytes; /* data or unified, one instance; 0: none or unknown */
    uint64_t l1_total, l2_total, l3_total; /* over the instances that serve `cores` */
    /* What -march=native depends on: "x86_64 AuthenticAMD/25/17/1 avx2 avx512f … #1f2e3d4c5b6a7988"
     * (the digest covers every flag and the cache sizes). Part of build-cache keys. */
    char key[CPU_KEY_BYTES];
    char governor[32];    /* "performance"; "" where there is no frequency driver */
    double frequency_mhz; /* now; 0 unknown */
    double frequency_max_mhz;
};

void cpu_detect(struct cpu *cpu);

/* Adds the processors of a list as the kernel writes it ("0-3,8") to a set of that many bytes;
 * those that it has no room for are left out. */
void cpu_list_add(const char *list, size_t set_bytes, cpu_set_t *set);
/* Whether /proc/cpuinfo lists the flag ("avx512f") for the first processor. */
bool cpu_has_flag(const char *flag);
