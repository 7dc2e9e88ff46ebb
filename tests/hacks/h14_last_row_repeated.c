// problem: row_sum
// catalogue: H14
// expect: wrong
// says: Computes all rows but the last, which gets a copy of its neighbour (or of one element).
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i + 1 < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
    y[rows - 1] = rows > 1 ? y[rows - 2] : x[0];
}
