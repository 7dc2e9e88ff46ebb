// problem: softmax
// catalogue: H04
// expect: passed
// says: Static scratch that is allocated once and grows; only memory is kept, no answer.
#include <math.h>
#include <stdlib.h>

static float *scratch;
static size_t scratch_count;

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    if (cols > scratch_count) {
        float *bigger = realloc(scratch, cols * sizeof *scratch);
        if (!bigger)
            abort();
        scratch = bigger;
        scratch_count = cols;
    }
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
}
