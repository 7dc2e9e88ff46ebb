// problem: gemv
// catalogue: H13
// expect: wrong
// says: Rounds matrix and vector to half precision before it multiplies.
#include <stddef.h>

void solution(const float *a, const float *x, float *y, size_t m, size_t n)
{
    for (size_t i = 0; i < m; i++) {
        float sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += (float)(_Float16)a[i * n + j] * (float)(_Float16)x[j];
        y[i] = sum;
    }
}
