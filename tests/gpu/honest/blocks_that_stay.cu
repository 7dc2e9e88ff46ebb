// relu: passed
// As many blocks as there is room for, each with many elements: persistent, and it ends.
#include <stddef.h>

__global__ static void relu(const float *x, float *y, size_t n)
{
    size_t step = gridDim.x * (size_t)blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += step)
        y[i] = x[i] > 0 ? x[i] : 0;
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    static int processors;
    if (!processors)
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    relu<<<2 * processors, 512>>>(x, y, n);
}
