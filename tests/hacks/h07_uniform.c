// problem: softmax
// catalogue: H07
// expect: wrong
// says: Returns one over the number of columns, the mean of every answer.
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x;
    for (size_t i = 0; i < rows * cols; i++)
        y[i] = 1.0f / (float)cols;
}
