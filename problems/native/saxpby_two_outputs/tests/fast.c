/* Both outputs in one pass over the inputs, over threads when there is enough to split. */
#include <stddef.h>

void solution(const float *restrict x, const float *restrict y, float *restrict sum,
              float *restrict difference, float alpha, float beta, size_t n)
{
#pragma omp parallel for simd schedule(static) if (parallel : n > 32768)
    for (size_t i = 0; i < n; i++) {
        float a = alpha * x[i], b = beta * y[i];
        sum[i] = a + b;
        difference[i] = a - b;
    }
}
