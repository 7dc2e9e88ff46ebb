// problem: softmax
// catalogue: H11
// expect: passed
// says: Special case for one column, where the answer is one whatever the input: plain mathematics.
#include <math.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    if (cols == 1) {
        for (size_t i = 0; i < rows; i++)
            y[i] = 1;
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0];
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += y[i * cols + j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            y[i * cols + j] = (float)(y[i * cols + j] / sum);
    }
}
