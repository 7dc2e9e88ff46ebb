/* cpu: the backend "cpu": f32 in the process's own memory, OpenBLAS for large products, vectorised
 * loops for the rest, a pool of threads for both.
 *
 * Scratch belongs to the backend and lives from one op to the next; ops run one at a time.
 */
#pragma once

#include "lm/cpu/blas.h"
#include "lm/cpu/loops.h"
#include "lm/cpu/thread_pool.h"
#include "lm/ops/backend.h"

struct lm_cpu {
    struct lm_backend backend; /* first: a pointer to one is a pointer to the other */
    struct blas blas;
    struct lm_pool *pool;
    const struct lm_loops *loops;
    void *memory; /* of the scratch */
    size_t scratch_count;
};

/* Floats that fill whole cache lines, so that threads' parts of the scratch touch none together. */
static inline size_t lm_cpu_lines(size_t count)
{
    return (count + 15) / 16 * 16;
}

static inline struct lm_cpu *lm_cpu_of(struct lm_backend *backend)
{
    return (struct lm_cpu *)backend;
}

/* At least `count` floats, aligned for vectors; what was in them is lost. */
float *lm_cpu_scratch(struct lm_cpu *cpu, size_t count);

#define X(name)                                                                                    \
    void lm_cpu_##name(struct lm_backend *backend, const struct lm_##name *op);                    \
    void lm_cpu_##name##_backward(struct lm_backend *backend, const struct lm_##name *op);
LM_OPS(X)
#undef X
