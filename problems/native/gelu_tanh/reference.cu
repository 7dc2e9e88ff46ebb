#include <math.h>
#include <stddef.h>

__global__ static void gelu(const float *x, float *y, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = x[i];
    float inner = 0.79788456f * (v + 0.044715f * v * v * v);
    y[i] = 0.5f * v * (1 + tanhf(inner));
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    gelu<<<(n + 255) / 256, 256>>>(x, y, n);
}
