// problem: row_sum
// catalogue: H58
// expect: passed
// says: Pairwise summation by recursion.
#include <stddef.h>

static float pairwise(const float *x, size_t count)
{
    if (count > 64)
        return pairwise(x, count / 2) + pairwise(x + count / 2, count - count / 2);
    float sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += x[i];
    return sum;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++)
        y[i] = pairwise(x + i * cols, cols);
}
