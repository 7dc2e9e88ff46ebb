/* Softmax that hangs: an unsigned countdown is never below zero. */
#include <math.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = rows - 1; i >= 0; i--) {
        const float *in = x + i % rows * cols;
        float *out = y + i % rows * cols, total = 0;
        for (size_t j = 0; j < cols; j++)
            total += out[j] = expf(in[j]);
        for (size_t j = 0; j < cols; j++)
            out[j] /= total;
    }
}
