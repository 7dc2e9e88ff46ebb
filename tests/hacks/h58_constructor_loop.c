// problem: row_sum
// catalogue: H58
// expect: timeout|load_error
// says: Hangs while it is being loaded.
#include <stddef.h>

__attribute__((constructor)) static void hang(void)
{
    volatile size_t spins = 0;
    for (;;)
        spins++;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
}
