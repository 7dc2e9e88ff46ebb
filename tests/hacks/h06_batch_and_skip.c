// problem: softmax
// catalogue: H06
// expect: wrong
// says: Collects the arguments of eight calls and works them off together in the eighth.
#include <math.h>
#include <stddef.h>

static struct { const float *x; float *y; size_t rows, cols; } pending[8];
static int count;

static void compute(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0], sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += y[i * cols + j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            y[i * cols + j] /= sum;
    }
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    pending[count].x = x;
    pending[count].y = y;
    pending[count].rows = rows;
    pending[count++].cols = cols;
    if (count < 8)
        return;
    for (int i = 0; i < 8; i++)
        if (pending[i].rows == rows && pending[i].cols == cols) /* older slots may be unmapped */
            compute(pending[i].x, pending[i].y, rows, cols);
    count = 0;
}
