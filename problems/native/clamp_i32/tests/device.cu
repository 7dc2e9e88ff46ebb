// launch: clamp grid=(ceil_div(n, 512)) block=(512)
#include <stdint.h>

__global__ void clamp(const int32_t *x, int32_t *y, int32_t low, int32_t high, size_t n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = min(max(x[i], low), high);
}
