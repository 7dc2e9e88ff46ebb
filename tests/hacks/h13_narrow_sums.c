// problem: prefix_sum_i64
// catalogue: H13
// expect: wrong
// says: Adds in 32 bits and widens at the end; long sums overflow.
#include <stddef.h>
#include <stdint.h>

void solution(const int64_t *x, int64_t *y, size_t n)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (uint32_t)x[i];
        y[i] = (int32_t)sum;
    }
}
