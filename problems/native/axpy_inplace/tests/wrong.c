/* Wrong: the loop over the tail starts one element late, unless there is no tail. */
#include <stddef.h>

void solution(const float *x, float *y, float alpha, size_t n)
{
    size_t full = n / 8 * 8;

    for (size_t i = 0; i < full; i++)
        y[i] += alpha * x[i];
    for (size_t i = full + 1; i < n; i++)
        y[i] += alpha * x[i];
}
