/* gpu_context: one GPU, ready to be used by this process.
 *
 * It is the device's primary context, the one that the CUDA runtime uses, too, so that addresses
 * mean the same to both. Making one takes 0.2 s. Ownership: the caller's storage; it must not move
 * while anything refers to it. Threads: any thread that calls gpu_context_use first.
 */
#pragma once

#include "device/cuda.h"
#include "device/gpu.h"

#include <limits.h>

#include <stdbool.h>

struct gpu_context {
    struct cuda cuda;
    cuda_device device;
    cuda_context context;
    struct gpu facts;
    char directory[PATH_MAX]; /* where the driver's library lies */
    bool open;
};

/* `driver` as in cuda_open; ordinal counts the visible devices from 0. */
NODISCARD int gpu_context_open(struct gpu_context *gpu, const char *driver, int ordinal,
                               struct err *err);
/* Safe on a zeroed struct. The library stays loaded: the driver's own threads run on. */
void gpu_context_close(struct gpu_context *gpu);

/* Makes it the calling thread's. */
NODISCARD int gpu_context_use(const struct gpu_context *gpu, struct err *err);
