// problem: gemm
// catalogue: H13
// expect: wrong
// says: Multiplies with both operands cut to bfloat16.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static float cut(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void solution(const float *a, const float *b, float *c, size_t m, size_t n, size_t k)
{
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++)
            c[i * n + j] = 0;
        for (size_t p = 0; p < k; p++) {
            float left = cut(a[i * k + p]);
            for (size_t j = 0; j < n; j++)
                c[i * n + j] += left * cut(b[p * n + j]);
        }
    }
}
