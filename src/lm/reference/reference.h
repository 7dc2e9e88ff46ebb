/* reference: the plain backend: every op of lm/ops/ops.h as one reads it there, in scalar loops and
 * one thread. It is what other backends are held against, so sums run in double and nothing is
 * clever.
 */
#pragma once

#include "lm/ops/ops.h"

#define X(name)                                                                                    \
    void reference_##name(struct lm_backend *backend, const struct lm_##name *op);                 \
    void reference_##name##_backward(struct lm_backend *backend, const struct lm_##name *op);
LM_OPS(X)
#undef X

/* Σ a[i·step_a] · b[i·step_b] */
static inline double reference_dot(const float *a, size_t step_a, const float *b, size_t step_b,
                                   size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)a[i * step_a] * (double)b[i * step_b];
    return sum;
}
