// problem: row_sum
// catalogue: H58
// expect: timeout
// says: Never returns; the watchdog ends it and the verdict says so.
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    volatile size_t spins = 0;
    (void)x, (void)y, (void)rows, (void)cols;
    for (;;)
        spins++;
}
