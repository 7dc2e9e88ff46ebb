// problem: row_sum
// catalogue: H20
// expect: passed
// says: A reduction over threads inside each row; the order of the sum differs, the answer doesn't.
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
#pragma omp parallel for reduction(+ : sum) if (cols > 100000)
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}
