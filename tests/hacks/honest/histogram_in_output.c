// problem: histogram_i32
// catalogue: H03
// expect: passed
// says: Counts in the output itself, which it clears first.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void solution(const int32_t *x, int32_t *counts, size_t n, size_t bins)
{
    memset(counts, 0, bins * sizeof *counts);
    for (size_t i = 0; i < n; i++)
        counts[x[i]]++;
}
