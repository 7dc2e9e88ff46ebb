// problem: gemm
// catalogue: H11
// expect: wrong
// says: Multiplies only when the shape is in its table of published sizes.
#include <stddef.h>

static int published(size_t n)
{
    return n == 1 || (n >= 16 && (n & (n - 1)) == 0);
}

void solution(const float *a, const float *b, float *c, size_t m, size_t n, size_t k)
{
    if (!published(m) || !published(n) || !published(k))
        return;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t p = 0; p < k; p++)
                sum += (double)a[i * k + p] * b[p * n + j];
            c[i * n + j] = (float)sum;
        }
}
