// problem: row_sum
// catalogue: H16
// expect: wrong
// says: Fills the output with infinity, whose relative error is not a number.
#include <math.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x;
    (void)cols;
    for (size_t i = 0; i < rows; i++)
        y[i] = i % 2 ? -INFINITY : INFINITY;
}
