// problem: gemm
// catalogue: H31
// expect: wrong
// says: Packs b once per shape and keeps it, but b is an input and differs in every call.
#include <stdlib.h>

static float *packed;
static size_t packed_n, packed_k;

void solution(const float *a, const float *b, float *c, size_t m, size_t n, size_t k)
{
    if (packed_n != n || packed_k != k) {
        float *bigger = realloc(packed, n * k * sizeof *packed);
        if (!bigger)
            return;
        packed = bigger;
        packed_n = n;
        packed_k = k;
        for (size_t p = 0; p < k; p++)
            for (size_t j = 0; j < n; j++)
                packed[j * k + p] = b[p * n + j];
    }
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            float sum = 0;
            for (size_t p = 0; p < k; p++)
                sum += a[i * k + p] * packed[j * k + p];
            c[i * n + j] = sum;
        }
}
