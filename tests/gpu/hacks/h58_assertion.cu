// relu: runtime_error
#include <assert.h>
#include <stddef.h>

__global__ static void claim(const float *x)
{
    assert(x == NULL);
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    (void)y, (void)n;
    claim<<<1, 1>>>(x);
}
