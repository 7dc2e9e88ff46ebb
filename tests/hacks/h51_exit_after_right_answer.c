// problem: row_sum
// catalogue: H51
// expect: runtime_error|violation
// says: Computes rightly and then leaves with status 0 instead of returning.
#include <stddef.h>
#include <stdlib.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
    _Exit(EXIT_SUCCESS);
}
