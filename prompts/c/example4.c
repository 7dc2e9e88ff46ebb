/* Bound by memory: the matrix is read once, the vector stays in the cache. Four rows at a time, so
 * that what was loaded of the vector is used four times, with several sums in each. */
#include <stddef.h>

static float dot(const float *restrict a, const float *restrict x, size_t count)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++)
        sum += a[i] * x[i];
    return sum;
}

void solution(const float *restrict a, const float *restrict x, float *restrict y, size_t rows,
              size_t cols)
{
    size_t fours = rows / 4;
#pragma omp parallel for schedule(static) if (rows * cols > 65536)
    for (size_t four = 0; four < fours; four++) {
        const float *p = a + 4 * four * cols, *q = p + cols, *r = q + cols, *s = r + cols;
        float w0 = 0, w1 = 0, w2 = 0, w3 = 0;
#pragma omp simd reduction(+ : w0, w1, w2, w3)
        for (size_t i = 0; i < cols; i++) {
            w0 += p[i] * x[i];
            w1 += q[i] * x[i];
            w2 += r[i] * x[i];
            w3 += s[i] * x[i];
        }
        y[4 * four] = w0;
        y[4 * four + 1] = w1;
        y[4 * four + 2] = w2;
        y[4 * four + 3] = w3;
    }
    for (size_t row = 4 * fours; row < rows; row++)
        y[row] = dot(a + row * cols, x, cols);
}
