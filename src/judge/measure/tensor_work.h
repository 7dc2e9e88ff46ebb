/* tensor_work: what an audit does to tensors, wherever they lie: a table of operations for this
 * machine's memory, plain loops, and one for a GPU's, where the judge's kernels do the same. Tests
 * hold each of the second against the first.
 *
 *   set       all elements are that value, as the type can hold it
 *   sum       of all elements
 *   digest    of bytes: equal for equal bytes, and as good as never for others
 *   pick      every so many elements, TENSOR_SAMPLE at the most
 *   trim      elements smaller than `size` become zero; a NaN is not smaller
 *   coarsen   floating elements are rounded to that many bits of mantissa, to nearest even
 *   clear     `bytes` at the beginning of each of `rows`, which are `stride` bytes apart, become 0
 *
 * Units: bytes and elements as the names say. Each is done when it returns. A place that elements
 * begin at has the alignment of their type, one that a digest is made of that of 8 bytes.
 *
 * Ownership: the caller's storage; tensor_memory_free and tensor_work_close free what they have.
 * Threads: one at a time; tensor_work_open makes the GPU's context the calling thread's. Errors:
 * those of a GPU alone; ERR_LIMIT: it has too little memory.
 */
#pragma once

#include "device/gpu_memory.h"
#include "judge/gpu/gpu_work.h"

#define TENSOR_SAMPLE 4096 /* elements */

struct tensor_place {
    char *data; /* in this machine's memory; NULL: on a GPU */
    cuda_at at; /* there, in the judge's context */
};

struct tensor_elements {
    struct tensor_place place;
    uint64_t count;
    uint32_t dtype;
};

struct tensor_memory {
    struct tensor_place place;
    uint64_t bytes;
    struct gpu_memory gpu;
};

struct tensor_trimmed {
    uint64_t kept, lost; /* elements; lost: that were not zero, and are */
};

struct tensor_work;

struct tensor_operations {
    /* So many bytes, whose contents mean nothing then, unless it has as many. */
    int (*reserve)(const struct tensor_work *work, struct tensor_memory *memory, uint64_t bytes,
                   struct err *err);
    int (*copy)(const struct tensor_work *work, struct tensor_place from, struct tensor_place to,
                uint64_t bytes, struct err *err);
    int (*set)(const struct tensor_work *work, const struct tensor_elements *of, double value,
               struct err *err);
    int (*sum)(const struct tensor_work *work, const struct tensor_elements *of, double *sum,
               struct err *err);
    int (*digest)(const struct tensor_work *work, struct tensor_place place, uint64_t bytes,
                  uint64_t *digest, struct err *err);
    int (*pick)(const struct tensor_work *work, const struct tensor_elements *of, uint64_t every,
                double values[TENSOR_SAMPLE], struct err *err);
    int (*trim)(const struct tensor_work *work, const struct tensor_elements *of, double size,
                struct tensor_trimmed *trimmed, struct err *err);
    int (*coarsen)(const struct tensor_work *work, const struct tensor_elements *of, int bits,
                   struct err *err);
    int (*clear)(const struct tensor_work *work, struct tensor_place place, uint64_t rows,
                 uint64_t stride, uint64_t bytes, struct err *err);
};

extern const struct tensor_operations tensor_operations_on_host, tensor_operations_on_gpu;

struct tensor_work {
    const struct tensor_operations *operations;
    const struct gpu_work *gpu; /* NULL: this machine's memory */
    struct gpu_memory found;    /* where kernels write numbers to */
};

/* `gpu`: the judge's kernels there, the caller's; NULL: this machine's memory. */
NODISCARD int tensor_work_open(struct tensor_work *work, const struct gpu_work *gpu,
                               struct err *err);
void tensor_work_close(struct tensor_work *work);
/* Safe on a zeroed struct. */
void tensor_memory_free(struct tensor_memory *memory);

/* How many elements `pick` picks of so many. */
static inline uint64_t tensor_picked(uint64_t count, uint64_t every)
{
    return (count + every - 1) / every;
}

static inline struct tensor_place tensor_place_past(struct tensor_place place, uint64_t bytes)
{
    return (struct tensor_place){place.data ? place.data + bytes : NULL, place.at + bytes};
}
