// Wrong: the exact GELU with erf, which differs from the tanh form in the fourth digit.
#include <math.h>
#include <stddef.h>

__global__ static void gelu(const float *x, float *y, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 0.5f * x[i] * (1 + erff(x[i] * 0.70710678f));
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    gelu<<<(n + 255) / 256, 256>>>(x, y, n);
}
