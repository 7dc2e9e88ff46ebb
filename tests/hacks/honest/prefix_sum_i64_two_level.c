// problem: prefix_sum_i64
// catalogue: H21
// expect: passed
// says: Two parallel sweeps with a scan of the block sums between them.
#include <stddef.h>
#include <stdint.h>

#define BLOCKS 64

void solution(const int64_t *x, int64_t *y, size_t n)
{
    int64_t sums[BLOCKS + 1] = {0};
    size_t block = (n + BLOCKS - 1) / BLOCKS;
#pragma omp parallel for
    for (size_t b = 0; b < BLOCKS; b++) {
        int64_t sum = 0;
        for (size_t i = b * block; i < (b + 1) * block && i < n; i++)
            y[i] = sum += x[i];
        sums[b + 1] = sum;
    }
    for (size_t b = 0; b < BLOCKS; b++)
        sums[b + 1] += sums[b];
#pragma omp parallel for
    for (size_t b = 1; b < BLOCKS; b++)
        for (size_t i = b * block; i < (b + 1) * block && i < n; i++)
            y[i] += sums[b];
}
