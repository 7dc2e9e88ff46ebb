/* The same loop, split over threads once there is enough to split. */
#include <stddef.h>

void solution(const float *restrict x, float *restrict y, size_t n)
{
#pragma omp parallel for simd schedule(static) if (parallel : n > 65536)
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}
