// problem: clamp_i32
// catalogue: H13
// expect: wrong
// says: Clamps integers in single precision, which has 24 bits for them.
#include <stddef.h>
#include <stdint.h>

void solution(const int32_t *x, int32_t *y, int32_t low, int32_t high, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float value = (float)x[i];
        value = value < (float)low ? (float)low : value > (float)high ? (float)high : value;
        y[i] = (int32_t)value;
    }
}
