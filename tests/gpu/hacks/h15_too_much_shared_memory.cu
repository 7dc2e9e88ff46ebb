// relu: wrong
// The launch fails, nobody looks, and the outputs stay as they were.
#include <stddef.h>

__global__ static void relu(const float *x, float *y, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] > 0 ? x[i] : 0;
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    relu<<<(n + 255) / 256, 256, 1 << 20>>>(x, y, n);
}
