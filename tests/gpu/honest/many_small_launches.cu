// relu: passed
// A thousand kernels for one call.
#include <stddef.h>

__global__ static void relu(const float *x, float *y, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] > 0 ? x[i] : 0;
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    size_t step = (n + 999) / 1000;
    for (size_t at = 0; at < n; at += step) {
        size_t count = n - at < step ? n - at : step;
        relu<<<(count + 255) / 256, 256>>>(x + at, y + at, count);
    }
}
