// relu: runtime_error
#include <stddef.h>

__global__ static void outside(float *y)
{
    y[(size_t)1 << 40] = 1;
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    (void)x, (void)n;
    outside<<<1, 1>>>(y);
}
