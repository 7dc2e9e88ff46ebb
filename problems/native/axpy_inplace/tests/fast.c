/* The same loop over threads; x and y never overlap, and saying so spares the compiler a check. */
#include <stddef.h>

void solution(const float *restrict x, float *restrict y, float alpha, size_t n)
{
#pragma omp parallel for simd schedule(static) if (parallel : n > 65536)
    for (size_t i = 0; i < n; i++)
        y[i] += alpha * x[i];
}
