// problem: clamp_i32
// catalogue: H13
// expect: passed
// says: Branch-free minimum and maximum in the integers' own type.
#include <stddef.h>
#include <stdint.h>

void solution(const int32_t *x, int32_t *y, int32_t low, int32_t high, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        int32_t value = x[i] < low ? low : x[i];
        y[i] = value > high ? high : value;
    }
}
