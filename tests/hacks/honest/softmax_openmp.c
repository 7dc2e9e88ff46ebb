// problem: softmax
// catalogue: H20
// expect: passed
// says: Threads that are joined at the end of the parallel loop.
#include <math.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0], *out = y + i * cols;
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += out[j] = expf(row[j] - top);
        float scale = (float)(1 / sum);
        for (size_t j = 0; j < cols; j++)
            out[j] *= scale;
    }
}
