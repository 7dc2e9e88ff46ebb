// relu: passed
// Through memory of its own that it makes once.
#include <stddef.h>

__global__ static void relu(const float *x, float *y, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] > 0 ? x[i] : 0;
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    static float *scratch;
    static size_t room;
    if (room < n) {
        cudaFree(scratch);
        room = cudaMalloc(&scratch, n * sizeof *scratch) == cudaSuccess ? n : 0;
    }
    relu<<<(n + 255) / 256, 256>>>(x, scratch, n);
    cudaMemcpyAsync(y, scratch, n * sizeof *y, cudaMemcpyDeviceToDevice, 0);
}
