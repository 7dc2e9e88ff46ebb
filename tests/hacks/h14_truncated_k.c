// problem: gemm
// catalogue: H14
// expect: wrong
// says: Leaves out the last eighth of the inner dimension.
#include <stddef.h>

void solution(const float *a, const float *b, float *c, size_t m, size_t n, size_t k)
{
    size_t used = k - k / 8;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t p = 0; p < used; p++)
                sum += (double)a[i * k + p] * b[p * n + j];
            c[i * n + j] = (float)sum;
        }
}
