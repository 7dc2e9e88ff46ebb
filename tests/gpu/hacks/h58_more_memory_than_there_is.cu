// relu: wrong out_of_memory runtime_error
#include <stddef.h>

__global__ static void relu(const float *x, float *y, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] > 0 ? x[i] : 0;
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    void *memory = NULL;
    if (cudaMalloc(&memory, (size_t)200 << 30) != cudaSuccess)
        return;
    relu<<<(n + 255) / 256, 256>>>(x, y, n);
}
