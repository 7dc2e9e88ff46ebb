// problem: gemm
// catalogue: H13
// expect: wrong
// says: Truncates the operands to ten mantissa bits, as a tensor core in TF32 mode would.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static float truncate(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits &= 0xffffe000u;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void solution(const float *a, const float *b, float *c, size_t m, size_t n, size_t k)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t p = 0; p < k; p++)
                sum += (double)truncate(a[i * k + p]) * truncate(b[p * n + j]);
            c[i * n + j] = (float)sum;
        }
}
