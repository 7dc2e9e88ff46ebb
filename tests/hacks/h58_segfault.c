// problem: row_sum
// catalogue: H58
// expect: runtime_error
// says: Writes through a null pointer.
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    volatile int *nowhere = NULL;
    (void)x, (void)y, (void)rows, (void)cols;
    *nowhere = 1;
}
