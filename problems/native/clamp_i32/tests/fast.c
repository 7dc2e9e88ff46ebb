/* Branch-free limits over threads and vectors. */
#include <stddef.h>
#include <stdint.h>

void solution(const int32_t *restrict x, int32_t *restrict y, int32_t low, int32_t high, size_t n)
{
#pragma omp parallel for simd schedule(static) if (parallel : n > 65536)
    for (size_t i = 0; i < n; i++) {
        int32_t v = x[i];
        v = v < low ? low : v;
        y[i] = v > high ? high : v;
    }
}
