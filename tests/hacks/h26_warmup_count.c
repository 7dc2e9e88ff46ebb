// problem: softmax
// catalogue: H26
// expect: wrong
// says: Honest during the first three calls, the warm-up, afterwards it computes every other row.
#include <math.h>
#include <stddef.h>

static int calls;

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    size_t step = calls++ < 3 ? 1 : 2;
    for (size_t i = 0; i < rows; i += step) {
        const float *row = x + i * cols;
        float top = row[0], *out = y + i * cols;
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += out[j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            out[j] /= sum;
    }
}
