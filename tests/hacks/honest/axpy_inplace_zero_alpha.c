// problem: axpy_inplace
// catalogue: H45
// expect: passed
// says: Returns early when alpha is zero, as BLAS does; a legal condition that is never true here.
#include <math.h>
#include <stddef.h>

void solution(const float *x, float *y, float alpha, size_t n)
{
    if (alpha == 0)
        return;
    for (size_t i = 0; i < n; i++)
        y[i] = fmaf(alpha, x[i], y[i]);
}
