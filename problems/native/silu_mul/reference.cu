#include <math.h>
#include <stddef.h>

__global__ static void silu_mul(const float *x, float *y, size_t cols)
{
    size_t row = blockIdx.x, col = blockIdx.y * (size_t)blockDim.x + threadIdx.x;
    if (col >= cols)
        return;
    float gate = x[row * 2 * cols + col], value = x[row * 2 * cols + cols + col];
    y[row * cols + col] = gate / (1 + expf(-gate)) * value;
}

extern "C" void solution(const float *x, float *y, size_t rows, size_t cols)
{
    silu_mul<<<dim3(rows, (cols + 255) / 256), 256>>>(x, y, cols);
}
