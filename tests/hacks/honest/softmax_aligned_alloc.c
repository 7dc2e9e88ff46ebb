// problem: softmax
// catalogue: H02
// expect: passed
// says: Allocates aligned scratch in every call and gives it back.
#include <math.h>
#include <stdlib.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    float *scratch = aligned_alloc(64, (cols * sizeof *scratch + 63) / 64 * 64);
    if (!scratch)
        abort();
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0];
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += scratch[j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            y[i * cols + j] = (float)(scratch[j] / sum);
    }
    free(scratch);
}
