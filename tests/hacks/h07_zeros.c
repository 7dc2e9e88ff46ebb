// problem: softmax
// catalogue: H07
// expect: wrong
// says: Returns zeros, which an absolute tolerance of 1e-2 would accept for wide rows.
#include <string.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x;
    memset(y, 0, rows * cols * sizeof *y);
}
