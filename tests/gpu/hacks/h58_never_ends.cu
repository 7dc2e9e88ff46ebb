// relu: timeout
#include <stddef.h>

__global__ static void wait(const volatile float *x)
{
    while (x[0] != 12345.0f)
        ;
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    (void)y, (void)n;
    wait<<<1, 1>>>(x);
}
