// problem: axpy_inplace
// catalogue: H08
// expect: passed
// says: Changes the argument that is meant to be changed, and only that.
#include <stddef.h>

void solution(const float *restrict x, float *restrict y, float alpha, size_t n)
{
#pragma omp parallel for simd
    for (size_t i = 0; i < n; i++)
        y[i] += alpha * x[i];
}
