// relu: wrong H08
// Writes the answer over the input, too.
#include <stddef.h>

__global__ static void relu(float *x, float *y, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = y[i] = x[i] > 0 ? x[i] : 0;
}

extern "C" void solution(float *x, float *y, size_t n)
{
    relu<<<(n + 255) / 256, 256>>>(x, y, n);
}
