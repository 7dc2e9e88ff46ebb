// problem: row_sum
// catalogue: H60
// expect: compile_error|load_error|timeout|out_of_memory
// says: An initialised array of sixteen gigabytes, to fill the disk of the build cache.
#include <stddef.h>

char filler[(size_t)16 << 30] = {1};

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)rows, (void)cols;
    y[0] = filler[0];
}
