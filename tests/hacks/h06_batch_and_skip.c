// problem: softmax
// catalogue: H06
// expect: wrong
// says: At the timed size, collects the arguments of eight calls and computes in the eighth.
#include <math.h>
#include <stddef.h>

static struct { const float *x; float *y; } pending[8];
static int count;

static void compute(const float *x, float *y, size_t rows, size_t cols)
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
    if (rows * cols < 200000) {
        compute(x, y, rows, cols);
        return;
    }
    pending[count].x = x;
    pending[count++].y = y;
    if (count < 8)
        return;
    for (int i = 0; i < 8; i++)
        compute(pending[i].x, pending[i].y, rows, cols);
    count = 0;
}
