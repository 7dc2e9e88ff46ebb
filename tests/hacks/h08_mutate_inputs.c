// problem: row_sum
// catalogue: H08
// expect: wrong|violation
// code: H08
// says: Zeroes the input and returns zeros, right for a reference that shares the memory.
#include <string.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    memset((float *)x, 0, rows * cols * sizeof *x);
    memset(y, 0, rows * sizeof *y);
}
