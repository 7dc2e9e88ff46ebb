// problem: row_sum
// catalogue: H58
// expect: runtime_error
// says: Divides an integer by zero at the large size only.
#include <stddef.h>

static void compute(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    volatile int zero = 0, seven = 7;
    compute(x, y, rows, cols);
    if (rows * cols > 200000)
        seven = seven / zero;
}
