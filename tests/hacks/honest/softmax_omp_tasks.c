// problem: softmax
// catalogue: H20
// expect: passed
// says: Tasks with a taskwait before the end of the region.
#include <math.h>
#include <stddef.h>

static void block(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0], *out = y + i * cols;
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += out[j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            out[j] = (float)(out[j] / sum);
    }
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
#pragma omp parallel
#pragma omp single
    {
        for (size_t i = 0; i < rows; i += 32) {
            size_t count = rows - i < 32 ? rows - i : 32;
#pragma omp task firstprivate(i, count)
            block(x + i * cols, y + i * cols, count, cols);
        }
#pragma omp taskwait
    }
}
