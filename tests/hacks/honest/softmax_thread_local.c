// problem: softmax
// catalogue: H21
// expect: passed
// says: Thread-local scratch of each OpenMP thread, kept from call to call.
#include <math.h>
#include <stdlib.h>

static _Thread_local float *scratch;
static _Thread_local size_t scratch_count;

static float *room(size_t count)
{
    if (count > scratch_count) {
        float *bigger = realloc(scratch, count * sizeof *scratch);
        if (!bigger)
            abort();
        scratch = bigger;
        scratch_count = count;
    }
    return scratch;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
#pragma omp parallel for
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0], *power = room(cols);
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += power[j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            y[i * cols + j] = (float)(power[j] / sum);
    }
}
