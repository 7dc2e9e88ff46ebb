/* Softmax that does not compile: the line that sums has no semicolon. */
#include <math.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++, x += cols, y += cols) {
        float largest = x[0], total = 0;
        for (size_t j = 1; j < cols; j++)
            largest = fmaxf(largest, x[j]);
        for (size_t j = 0; j < cols; j++)
            total += y[j] = expf(x[j] - largest)
        for (size_t j = 0; j < cols; j++)
            y[j] /= total;
    }
}
