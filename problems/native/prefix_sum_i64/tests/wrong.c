/* Wrong: the sum within a block of 4096 elements is kept in 32 bits. */
#include <stddef.h>
#include <stdint.h>

void solution(const int64_t *x, int64_t *y, size_t n)
{
    int64_t before = 0;

    for (size_t first = 0; first < n; first += 4096) {
        size_t end = first + 4096 < n ? first + 4096 : n;
        uint32_t sum = 0;
        for (size_t i = first; i < end; i++) {
            sum += (uint32_t)x[i];
            y[i] = before + (int32_t)sum;
        }
        before = y[end - 1];
    }
}
