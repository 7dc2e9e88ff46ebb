// problem: softmax
// catalogue: H16
// expect: wrong
// says: Fills the output with NaN, which a careless comparison never finds different.
#include <math.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x;
    for (size_t i = 0; i < rows * cols; i++)
        y[i] = NAN;
}
