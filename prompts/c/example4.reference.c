/* y = a * x: the dot product of every row of a with x, summed in double. */
#include <stddef.h>

void solution(const float *a, const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += (double)a[i * cols + j] * x[j];
        y[i] = (float)sum;
    }
}
