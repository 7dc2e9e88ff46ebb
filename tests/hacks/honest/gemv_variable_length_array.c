// problem: gemv
// catalogue: H58
// expect: passed
// says: A variable-length array of moderate size on the stack.
#include <stddef.h>

void solution(const float *a, const float *x, float *y, size_t rows, size_t cols)
{
    double wide[cols];
    for (size_t j = 0; j < cols; j++)
        wide[j] = x[j];
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += a[i * cols + j] * wide[j];
        y[i] = (float)sum;
    }
}
