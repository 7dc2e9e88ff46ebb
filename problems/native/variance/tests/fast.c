/* Both passes with one partial sum for each vector lane, in f32; rows over threads. */
#include <stddef.h>

void solution(const float *restrict x, float *restrict mean, float *restrict variance, size_t rows,
              size_t cols)
{
#pragma omp parallel for schedule(static) if (rows * cols > 65536)
    for (size_t row = 0; row < rows; row++) {
        const float *in = x + row * cols;
        float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t col = 0; col < cols; col++)
            sum += in[col];
        float middle = sum / (float)cols;
#pragma omp simd reduction(+ : squares)
        for (size_t col = 0; col < cols; col++)
            squares += (in[col] - middle) * (in[col] - middle);
        mean[row] = middle;
        variance[row] = squares / (float)cols;
    }
}
