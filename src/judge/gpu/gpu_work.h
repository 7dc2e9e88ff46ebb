/* gpu_work: what the judge itself computes on a GPU: inputs, whether two outputs agree, and what an
 * audit does to tensors.
 *
 * The fast path of timed calls: nothing of them passes through the host. fill.c, compare.c and
 * measure/tensor_work.c stay the reference: fills give the same bytes, and a mismatch that is found
 * here is looked at again there before anything is said of it. The kernels (gpu_work.cu) are
 * compiled for the GPU at hand when they are first needed, like a candidate, and kept in the build
 * cache.
 *
 * Threads: any that made the GPU's context its own (gpu_context_use). Kernels run one after the
 * other; what a function starts has ended when gpu_work_wait returns.
 */
#pragma once

#include "device/gpu_context.h"
#include "judge/numeric/compare.h"
#include "problem/fill_plan.h"

extern const char gpu_work_source[]; /* gpu_work.cu */

struct gpu_work {
    const struct gpu_context *gpu; /* NULL: not open */
    void *fill, *magnitude, *compare, *doubt, *settle, *guard, *gather, *copy;
    void *total, *digest, *pick, *trim, *coarsen, *clear; /* of audits */
    cuda_at junk;                                         /* its contents mean nothing */
    uint64_t junk_bytes;
};

/* struct comparison as the kernels take it. */
struct gpu_comparison {
    uint64_t count;
    uint32_t dtype, expected_dtype, exact, scale_rms;
    double relative, absolute, noise, overflow;
};

/* struct difference as the kernels leave it; zero before the first use. */
struct gpu_finding {
    double squares[3]; /* of tiny, plain and huge values, the first and last scaled by 2^±600 */
    uint64_t finite;
    uint64_t mismatches;
    uint64_t first; /* ~index of the first mismatch */
    double absolute, relative;
    uint64_t lopsided;
    uint64_t doubts; /* of gpu_work_agree alone */
};

/* Where the two arrays of a comparison begin. */
struct gpu_pair {
    cuda_at expected, got;
};

/* A turn of another context takes 2 ms, and to come back from one that is idle takes 0.2. */
#define GPU_WORK_IDLE_MS 1.0

#define GPU_ADDRESSES 32
#define GPU_ADDRESS_BYTES 64

struct gpu_addresses {
    cuda_at at[GPU_ADDRESSES];
    uint32_t bytes[GPU_ADDRESSES]; /* at most GPU_ADDRESS_BYTES each; 0: nothing */
};

/* A tensor's elements, one behind the other. */
struct gpu_elements {
    cuda_at at;
    uint64_t count;
    uint32_t dtype;
};

/* `image`: the compiled kernels. ERR_IO: the driver does not take them. */
NODISCARD int gpu_work_open(struct gpu_work *work, const struct gpu_context *gpu, const void *image,
                            struct err *err);

/* Arrays of `count` elements, `stride` bytes behind each other: each by the plan with a key of its
 * own. */
NODISCARD int gpu_work_fill(const struct gpu_work *work, const struct fill_plan *plan,
                            const uint64_t *keys, uint32_t arrays, uint64_t count, cuda_at to,
                            uint64_t stride, struct err *err);
/* By multiprocessors and not by the copy engines, so that it shares them with any other work
 * meanwhile, and takes longer for it. Both addresses and the bytes are multiples of 16. */
NODISCARD int gpu_work_copy(const struct gpu_work *work, cuda_at from, cuda_at to, uint64_t bytes,
                            struct err *err);
/* Nothing that was there before is in the L2 cache any more. */
NODISCARD int gpu_work_sweep(const struct gpu_work *work, struct err *err);
/* Adds what disagrees to the finding at `found`; one finding for each pair of tensors. */
NODISCARD int gpu_work_compare(const struct gpu_work *work, const struct comparison *spec,
                               cuda_at expected, cuda_at got, cuda_at found, struct err *err);
/* Only how many elements disagree, in findings that follow each other; all pairs have the form of
 * `spec`. In a fraction of gpu_work_compare's time. */
NODISCARD int gpu_work_agree(const struct gpu_work *work, const struct comparison *spec,
                             const struct gpu_pair *pairs, uint32_t count, cuda_at found,
                             struct err *err);
/* The finding in compare.c's words, but for the two values at the first mismatch. */
void gpu_work_difference(const struct comparison *spec, const struct gpu_finding *finding,
                         struct difference *difference);
/* Bytes from all addresses, into GPU_ADDRESSES * GPU_ADDRESS_BYTES bytes of `into`, which is host
 * memory that the GPU may write to (cuda.host_alloc). Has ended when it returns. */
NODISCARD int gpu_work_gather(const struct gpu_work *work, const struct gpu_addresses *from,
                              void *into, struct err *err);
/* Adds how many of `count` (at most 256) bytes are not `value`, at so many places, `stride` bytes
 * behind each other. */
NODISCARD int gpu_work_guard(const struct gpu_work *work, cuda_at at, uint64_t stride,
                             uint32_t places, uint32_t count, unsigned char value, cuda_at found,
                             struct err *err);
/* How long the smallest kernel that there is takes, from its start to its end, behind another one.
 * Contexts take turns: one that has work has its turn between the two. The first may come in the
 * middle of such a turn, and be as quick as on an idle GPU. */
NODISCARD int gpu_work_nothing(const struct gpu_work *work, double *ms, struct err *err);
/* Whether that is as short as on an idle GPU. Makes its context the calling thread's. */
bool gpu_work_idle(const struct gpu_work *work);
/* What measure/tensor_work.h says of them; numbers are added to what lies at `into`, or written
 * there. */
NODISCARD int gpu_work_total(const struct gpu_work *work, const struct gpu_elements *of,
                             cuda_at into, struct err *err);
NODISCARD int gpu_work_digest(const struct gpu_work *work, cuda_at at, uint64_t bytes, cuda_at into,
                              struct err *err);
/* `count` doubles: of every `every`-th element. */
NODISCARD int gpu_work_pick(const struct gpu_work *work, const struct gpu_elements *of,
                            uint64_t every, uint64_t count, cuda_at into, struct err *err);
/* Adds to two numbers: how many elements are kept, and how many that are not zero become it. */
NODISCARD int gpu_work_trim(const struct gpu_work *work, const struct gpu_elements *of, double size,
                            cuda_at into, struct err *err);
NODISCARD int gpu_work_coarsen(const struct gpu_work *work, const struct gpu_elements *of, int bits,
                               struct err *err);
NODISCARD int gpu_work_clear(const struct gpu_work *work, cuda_at at, uint64_t rows,
                             uint64_t stride, uint64_t bytes, struct err *err);
NODISCARD int gpu_work_wait(const struct gpu_work *work, struct err *err);
