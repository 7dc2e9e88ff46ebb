/* Softmax that crashes: asks for a huge scratch buffer and never looks whether it got one. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    volatile float *power = malloc(SIZE_MAX / 2 - rows);
    for (size_t i = 0; i < rows; i++) {
        float total = 0;
        for (size_t j = 0; j < cols; j++)
            total += power[j] = expf(x[i * cols + j]);
        for (size_t j = 0; j < cols; j++)
            y[i * cols + j] = power[j] / total;
    }
    free((void *)power);
}
