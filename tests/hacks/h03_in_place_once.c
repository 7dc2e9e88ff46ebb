// problem: axpy_inplace
// catalogue: H03
// expect: wrong
// says: Updates its buffer on the first call of a size only; in-place data comes fresh every time.
#include <stddef.h>

static size_t seen;

void solution(const float *x, float *y, float alpha, size_t n)
{
    if (n == seen)
        return;
    seen = n;
    for (size_t i = 0; i < n; i++)
        y[i] += alpha * x[i];
}
