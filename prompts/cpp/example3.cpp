/* One pass, bound by the exponential: written out so that it vectorises. exp(-g) = 2^n * e^r with
 * |r| <= ln(2)/2 and a polynomial of degree 6; 2^n goes straight into the exponent. */
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

using std::size_t;

static inline float exponential(float x)
{
    x = std::min(std::max(x, -87.0f), 88.0f);
    const float n = std::rint(x * 1.44269504f);
    const float r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.0f / 720;
    for (float coefficient : {1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f})
        p = p * r + coefficient;
    const std::int32_t bits = (static_cast<std::int32_t>(n) + 127) << 23;
    float scale;
    std::memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

extern "C" void solution(const float *__restrict x, float *__restrict y, size_t rows, size_t cols)
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
