// Wrong: rounds both inputs to 10 bits of mantissa first, as tensor cores do with TF32.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static float shorten(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x1000) & ~0x1fffu;
    memcpy(&value, &bits, sizeof bits);
    return value;
}

void solution(const float *a, const float *b, float *c, size_t rows, size_t cols, size_t depth)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++) {
            float sum = 0;
            for (size_t p = 0; p < depth; p++)
                sum += shorten(a[p * rows + i]) * shorten(b[p * cols + j]);
            c[i * cols + j] = sum;
        }
    }
}
