// relu: wrong
// Does the work once and returns at once ever after.
#include <stddef.h>

__global__ static void relu(const float *x, float *y, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] > 0 ? x[i] : 0;
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    static size_t done;
    if (done == n)
        return;
    done = n;
    relu<<<(n + 255) / 256, 256>>>(x, y, n);
}
