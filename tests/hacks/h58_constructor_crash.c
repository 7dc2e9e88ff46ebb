// problem: row_sum
// catalogue: H58
// expect: load_error|runtime_error
// says: Crashes while it is being loaded.
#include <stddef.h>

__attribute__((constructor)) static void crash(void)
{
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
}
