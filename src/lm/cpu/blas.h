/* blas: OpenBLAS, loaded when the backend is opened, and used from our own threads: it gets one
 * thread, and each task of a pool calls it for its part.
 */
#pragma once

#include "base/err.h"
#include "lm/cpu/thread_pool.h"

#include <stdbool.h>
#include <stddef.h>

struct blas {
    void *handle;
    void (*set_threads)(int threads);
    void (*sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                  const float *a, int a_stride, const float *b, int b_stride, float beta, float *c,
                  int c_stride);
};

/* ERR_MISSING: it is not on this machine. */
NODISCARD int blas_open(struct blas *blas, struct err *err);
void blas_close(struct blas *blas);

/* c = alpha · op(a) · op(b) + beta · c; c is [rows, columns], op(a) [rows, inner], op(b) [inner,
 * columns]; op turns a matrix over where its flag is set. A stride is the distance of two rows as
 * they lie in memory. beta 0: c is not read. */
struct matmul {
    size_t rows, columns, inner;
    const float *a, *b;
    float *c;
    size_t a_stride, b_stride, c_stride;
    bool a_turned, b_turned;
    float alpha, beta;
};

/* On the calling thread. */
void blas_matmul(const struct blas *blas, const struct matmul *matmul);
/* The part of c that task `task` of matmul_tasks() has. */
struct matmul matmul_part(const struct matmul *matmul, size_t threads, size_t task);
size_t matmul_tasks(const struct matmul *matmul, size_t threads);
/* On a pool. */
void blas_matmul_pool(const struct blas *blas, struct lm_pool *pool, size_t threads,
                      const struct matmul *matmul);
