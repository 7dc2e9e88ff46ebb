/* launcher: a device-only candidate inside its process: its cubin, and its launch lines
 * (problem/launch.h), worked out for the layout at hand.
 *
 * Ownership: the caller's storage, zeroed at first; it must not move. Threads: one. The address
 * space is the candidate's as much as that of a shared object would be.
 */
#pragma once

#include "device/gpu_context.h"
#include "judge/process/wire.h"
#include "problem/launch.h"

struct launcher {
    const struct gpu_context *gpu; /* NULL: not open */
    struct arena arena;
    struct signature signature;
    struct launch launch;
    struct launch_plan plan;
    uint32_t size_count, sizes[LIMIT_SIZES]; /* places of the sizes among the parameters */
    void *functions[LAUNCH_CALLS];
    cuda_at scratches[LAUNCH_SCRATCHES];
    uint64_t scratch_bytes[LAUNCH_SCRATCHES];
    cuda_at addresses[WIRE_SLOTS][LIMIT_ARGUMENTS];
    void *parameters[WIRE_SLOTS][LAUNCH_CALLS][LAUNCH_ARGUMENTS];
};

/* `lines` is a text of three parts: the signature in its first line, the problem's own launch line
 * in the second (empty: none), then the candidate's source. Descriptors stay the caller's.
 * ERR_UNSUPPORTED: the driver has no use for the cubin; ERR_LIMIT: no memory for it. */
NODISCARD int launcher_open(struct launcher *launcher, const struct gpu_context *gpu, int cubin,
                            int lines, struct err *err);

/* For `slots` calls, one behind the other: sizes and scalars at `slot`, arrays at `arrays`. */
NODISCARD int launcher_map(struct launcher *launcher, const struct layout *layout, uint32_t slots,
                           char *slot, cuda_at arrays, struct err *err);

/* Starts the kernels of one call; they run when it returns. */
NODISCARD int launcher_start(struct launcher *launcher, uint32_t slot, struct err *err);
