/* Wrong: the exact GELU with erf, which differs from the tanh form in the fourth digit. */
#include <math.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f));
}
