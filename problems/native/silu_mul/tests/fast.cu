// Four columns a thread in one load where rows are aligned for it; the hardware's exponential.
#include <stddef.h>

enum { THREADS = 128 };

__device__ static float silu_mul(float gate, float value)
{
    return __fdividef(gate, 1 + __expf(-gate)) * value;
}

__global__ static void fours(const float4 *x, float4 *y, size_t quads)
{
    size_t row = blockIdx.x, col = blockIdx.y * (size_t)THREADS + threadIdx.x;
    if (col >= quads)
        return;
    float4 gate = x[row * 2 * quads + col], value = x[row * 2 * quads + quads + col];
    y[row * quads + col] = make_float4(silu_mul(gate.x, value.x), silu_mul(gate.y, value.y),
                                       silu_mul(gate.z, value.z), silu_mul(gate.w, value.w));
}

__global__ static void ones(const float *x, float *y, size_t cols)
{
    size_t row = blockIdx.x, col = blockIdx.y * (size_t)THREADS + threadIdx.x;
    if (col < cols)
        y[row * cols + col] = silu_mul(x[row * 2 * cols + col], x[row * 2 * cols + cols + col]);
}

extern "C" void solution(const float *x, float *y, size_t rows, size_t cols)
{
    if (cols % 4 == 0)
        fours<<<dim3(rows, (cols / 4 + THREADS - 1) / THREADS), THREADS>>>((const float4 *)x,
                                                                           (float4 *)y, cols / 4);
    else
        ones<<<dim3(rows, (cols + THREADS - 1) / THREADS), THREADS>>>(x, y, cols);
}
