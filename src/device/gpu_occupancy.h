/* gpu_occupancy: how many threads of a kernel a multiprocessor holds at a time, and what keeps it
 * from more (CUDA C++ Programming Guide, "Multiprocessor Level"). Pure calculation.
 *
 * Registers are given to warps in units of 256, to each of a multiprocessor's four parts by itself;
 * shared memory in units of 128 bytes. True of compute capability 7.0 and later. The split between
 * L1 and shared memory is taken to be the kernel's to choose.
 */
#pragma once

#include "device/gpu.h"

struct gpu_occupancy {
    uint32_t blocks;   /* of the kernel on one multiprocessor; 0: it does not fit, or not known */
    double fraction;   /* of the multiprocessor's thread capacity; NaN: unknown */
    const char *limit; /* "threads", "blocks", "registers", "shared memory"; "": not known */
};

void gpu_occupancy(const struct gpu_multiprocessor *each, uint32_t threads, uint32_t registers,
                   uint64_t shared_bytes, struct gpu_occupancy *occupancy);
