/* Wrong: the last n % 4 elements of the difference have the opposite sign. */
#include <stddef.h>

void solution(const float *x, const float *y, float *sum, float *difference, float alpha,
              float beta, size_t n)
{
    size_t full = n / 4 * 4;

    for (size_t i = 0; i < n; i++) {
        float a = alpha * x[i], b = beta * y[i];
        sum[i] = a + b;
        difference[i] = i < full ? a - b : b - a;
    }
}
