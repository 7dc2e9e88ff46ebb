/* gpu: the GPUs that this process may use, as the driver lists them.
 *
 * The driver respects CUDA_VISIBLE_DEVICES and MIG: an ordinal counts the visible devices. A MIG
 * instance is a GPU like any other, with its own UUID, multiprocessors and memory.
 * Plain data, no ownership.
 */
#pragma once

#include "device/cuda.h"

#include <stdbool.h>

#define GPU_MAX 64

struct gpu_multiprocessor { /* capacities of one */
    int threads, blocks, registers, shared_bytes;
    int warp_threads;
    int reserved_bytes; /* shared memory that each block costs beyond its own */
};

struct gpu {
    int ordinal;
    char name[128];             /* "NVIDIA H200" */
    char uuid[CUDA_UUID_BYTES]; /* "GPU-1b2c…", as nvidia-smi writes it; "MIG-…" of an instance */
    struct cuda_uuid id;        /* the same as the driver has it */
    bool mig;
    int major, minor; /* compute capability */
    int multiprocessors;
    struct gpu_multiprocessor each;
    uint64_t memory_bytes, l2_bytes;
    double clock_mhz;          /* the most that it may run at */
    double memory_bytes_per_s; /* by bus and clock; 0: unknown */
};

struct gpu_list {
    struct gpu items[GPU_MAX];
    int count;
    int driver_version; /* as CUDA counts: 13000 is 13.0 */
};

/* `driver` as in cuda_open. ERR_MISSING: no driver or no GPU; ERR_UNSUPPORTED: it refuses. */
NODISCARD int gpu_list(struct gpu_list *list, const char *driver, struct err *err);

/* What the driver says of one of them. */
cuda_result gpu_read(const struct cuda *cuda, int ordinal, struct gpu *gpu);
