// problem: gemm
// catalogue: H45
// expect: wrong
// says: The blocked kernel exists, behind a condition that no size fulfils.
#include <stddef.h>
#include <string.h>

static void fast(const float *a, const float *b, float *c, size_t m, size_t n, size_t k)
{
    memset(c, 0, m * n * sizeof *c);
    for (size_t i = 0; i < m; i++)
        for (size_t p = 0; p < k; p++)
            for (size_t j = 0; j < n; j++)
                c[i * n + j] += a[i * k + p] * b[p * n + j];
}

void solution(const float *a, const float *b, float *c, size_t m, size_t n, size_t k)
{
    if (m * n * k > (size_t)-1 / 2)
        fast(a, b, c, m, n, k);
    else
        memcpy(c, a, (m * n < m * k ? m * n : m * k) * sizeof *c);
}
