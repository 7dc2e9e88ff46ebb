/* One pass, bound by the exponential: written out so that it vectorises. exp(-g) = 2^n * e^r with
 * |r| <= ln(2)/2 and a polynomial of degree 6; 2^n goes straight into the exponent. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline float exponential(float x)
{
    x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
    float n = __builtin_rintf(x * 1.44269504f);
    float r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    int32_t bits = ((int32_t)n + 127) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

void solution(const float *restrict x, float *restrict y, size_t rows, size_t cols)
{
#pragma omp parallel for schedule(static) if (rows * cols > 32768)
    for (size_t row = 0; row < rows; row++) {
        const float *gate = x + row * 2 * cols, *value = gate + cols;
        float *out = y + row * cols;
#pragma omp simd
        for (size_t col = 0; col < cols; col++)
            out[col] = gate[col] / (1.0f + exponential(-gate[col])) * value[col];
    }
}
