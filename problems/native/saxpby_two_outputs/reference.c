#include <stddef.h>

void solution(const float *x, const float *y, float *sum, float *difference, float alpha,
              float beta, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] = alpha * x[i] + beta * y[i];
    for (size_t i = 0; i < n; i++)
        difference[i] = alpha * x[i] - beta * y[i];
}
