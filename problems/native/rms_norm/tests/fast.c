/* One partial sum of squares for each vector lane, in f32; rows over threads. */
#include <math.h>
#include <stddef.h>

void solution(const float *restrict x, const float *restrict gamma, float *restrict y, size_t rows,
              size_t cols)
{
#pragma omp parallel for schedule(static) if (rows * cols > 32768)
    for (size_t row = 0; row < rows; row++) {
        const float *in = x + row * cols;
        float *out = y + row * cols;
        float squares = 0;
#pragma omp simd reduction(+ : squares)
        for (size_t col = 0; col < cols; col++)
            squares += in[col] * in[col];
        float scale = 1.0f / sqrtf(squares / (float)cols + 1e-6f);
#pragma omp simd
        for (size_t col = 0; col < cols; col++)
            out[col] = in[col] * scale * gamma[col];
    }
}
