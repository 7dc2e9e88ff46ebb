// Takes four rows at once, so that x is loaded once for all of them; rows over threads.
#include <stddef.h>

void solution(const float *a, const float *x, float *y, size_t rows, size_t cols)
{
#pragma omp parallel for if (rows * cols > 100000)
    for (size_t i = 0; i < rows; i += 4) {
        /* Past the last row the row before it is computed once more and not stored. */
        size_t last = rows - 1;
        const float *a0 = a + i * cols, *a1 = a + (i + 1 < rows ? i + 1 : last) * cols;
        const float *a2 = a + (i + 2 < rows ? i + 2 : last) * cols;
        const float *a3 = a + (i + 3 < rows ? i + 3 : last) * cols;
        float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
        for (size_t j = 0; j < cols; j++) {
            s0 += a0[j] * x[j];
            s1 += a1[j] * x[j];
            s2 += a2[j] * x[j];
            s3 += a3[j] * x[j];
        }
        float sum[4] = {s0, s1, s2, s3};
        for (size_t r = 0; r < 4 && i + r < rows; r++)
            y[i + r] = sum[r];
    }
}
