/* Bound by memory: the matrix is read once, the vector stays in the cache. Four rows at a time, so
 * that what was loaded of the vector is used four times, with several sums in each. */
#include <cstddef>
#include <numeric>

using std::size_t;

static void four_rows(const float *__restrict a, const float *__restrict x, float *__restrict y,
                      size_t cols)
{
    const float *p = a, *q = p + cols, *r = q + cols, *s = r + cols;
    float w0 = 0, w1 = 0, w2 = 0, w3 = 0;
#pragma omp simd reduction(+ : w0, w1, w2, w3)
    for (size_t i = 0; i < cols; i++) {
        w0 += p[i] * x[i];
        w1 += q[i] * x[i];
        w2 += r[i] * x[i];
        w3 += s[i] * x[i];
    }
    y[0] = w0;
    y[1] = w1;
    y[2] = w2;
    y[3] = w3;
}

extern "C" void solution(const float *__restrict a, const float *__restrict x, float *__restrict y,
                         size_t rows, size_t cols)
{
    const size_t whole = rows - rows % 4;
#pragma omp parallel for schedule(static) if (rows * cols > 65536)
    for (size_t row = 0; row < whole; row += 4)
        four_rows(a + row * cols, x, y + row, cols);
    for (size_t row = whole; row < rows; row++) /* at most three */
        y[row] = std::inner_product(x, x + cols, a + row * cols, 0.0f);
}
