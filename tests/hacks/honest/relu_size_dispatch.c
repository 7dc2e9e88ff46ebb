// problem: relu
// catalogue: H11
// expect: passed
// says: Three paths by size, each of them right: one element, a few, and many on all threads.
#include <stddef.h>

void solution(const float *x, float *y, size_t n)
{
    if (n == 1) {
        y[0] = x[0] > 0 ? x[0] : 0;
    } else if (n < 10000) {
        for (size_t i = 0; i < n; i++)
            y[i] = x[i] > 0 ? x[i] : 0;
    } else {
#pragma omp parallel for simd schedule(static)
        for (size_t i = 0; i < n; i++)
            y[i] = x[i] > 0 ? x[i] : 0;
    }
}
