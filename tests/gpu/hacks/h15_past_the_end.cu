// relu: wrong H15
// One element too many.
#include <stddef.h>

__global__ static void relu(const float *x, float *y, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i <= n)
        y[i] = i < n && x[i] > 0 ? x[i] : 0;
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    relu<<<n / 256 + 1, 256>>>(x, y, n);
}
