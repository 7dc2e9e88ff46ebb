#include <stddef.h>
#include <stdint.h>

void solution(const int32_t *x, int32_t *y, int32_t low, int32_t high, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (x[i] < low)
            y[i] = low;
        else if (x[i] > high)
            y[i] = high;
        else
            y[i] = x[i];
    }
}
