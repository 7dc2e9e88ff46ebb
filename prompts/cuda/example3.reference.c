#include <stddef.h>

void solution(const float *x, float *y, float alpha, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += alpha * x[i];
}
