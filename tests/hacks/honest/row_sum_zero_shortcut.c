// problem: row_sum
// catalogue: H10
// expect: passed
// says: Looks whether a row is all zeros first and then has nothing to add: a legal early exit.
#include <stdbool.h>
#include <stddef.h>

static bool all_zero(const float *row, size_t cols)
{
    for (size_t j = 0; j < cols; j++)
        if (row[j] != 0)
            return false;
    return true;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        y[i] = 0;
        if (all_zero(x + i * cols, cols))
            continue;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}
