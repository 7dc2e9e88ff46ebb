// relu: passed
// A cooperative kernel whose blocks wait for each other: a spin that ends.
#include <cooperative_groups.h>
#include <stddef.h>

__global__ static void relu(const float *x, float *y, size_t n)
{
    size_t step = gridDim.x * (size_t)blockDim.x;
    size_t start = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    for (size_t i = start; i < n; i += step)
        y[i] = x[i];
    cooperative_groups::this_grid().sync();
    for (size_t i = start; i < n; i += step)
        y[i] = y[i] > 0 ? y[i] : 0;
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    int processors = 1;
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    void *arguments[] = {&x, &y, &n};
    dim3 grid((unsigned)processors);
    cudaLaunchCooperativeKernel((const void *)relu, grid, dim3(256), arguments, 0, 0);
}
