/* devices: what a judge can judge on, for schedulers and monitoring.
 *
 * Plain data, no ownership. Threads: any.
 */
#pragma once

#include "device/gpu.h"
#include "judge/judge.h"
#include "sandbox/standby.h"

#include <stddef.h>
#include <stdint.h>

#define JUDGE_DEVICES 65 /* GPUs, and the CPU */

struct judge_device {
    bool gpu;
    char name[128];   /* "NVIDIA H200", "AMD EPYC 9654 96-Core Processor" */
    char uuid[64];    /* of a GPU */
    int ordinal;      /* of a GPU, in this process */
    struct gpu facts; /* of a GPU */
    int cores;        /* of the CPU */
    bool good;        /* false: it is in quarantine */
    char why[256];    /* in quarantine */
    uint64_t memory_bytes;
    int evaluations;    /* that are on it now */
    double busy_s;      /* how long its lock was held, since the judge was opened */
    double exclusive_s; /* of that, exclusively: for timing, above all */
    uint32_t ready;     /* processes of the warm pools, with a context on a GPU */
};

/* A process that has loaded what children need, and forks them. */
struct judge_standby {
    const char *name; /* "native", "torch", … */
    enum standby_state state;
};

/* Finds the GPUs the first time. How many there are; the CPU is the last. */
size_t judge_devices(struct judge *judge, struct judge_device devices[JUDGE_DEVICES]);

#define JUDGE_STANDBYS 5
/* Those that were needed, or warmed, so far. How many. */
size_t judge_standbys(struct judge *judge, struct judge_standby standbys[JUDGE_STANDBYS]);
