/* Wrong: compares and converts through f32, which cannot hold every integer beyond 2^24. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

void solution(const int32_t *x, int32_t *y, int32_t low, int32_t high, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (int32_t)fminf(fmaxf((float)x[i], (float)low), (float)high);
}
