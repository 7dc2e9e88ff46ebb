// A row stays in registers between its maximum, its sum and its result; warps add up by shuffles.
#include <math.h>
#include <stddef.h>

enum { THREADS = 256, WARPS = THREADS / 32, HELD = 4 };

__device__ static float block_max(float value)
{
    __shared__ float parts[WARPS];
    for (int step = 16; step > 0; step /= 2)
        value = fmaxf(value, __shfl_xor_sync(~0u, value, step));
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = value;
    __syncthreads();
    for (int warp = 0; warp < WARPS; warp++)
        value = fmaxf(value, parts[warp]);
    return value;
}

__device__ static float block_sum(float value)
{
    __shared__ float parts[WARPS];
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(~0u, value, step);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0;
    for (int warp = 0; warp < WARPS; warp++)
        sum += parts[warp];
    return sum;
}

/* For at most HELD * THREADS columns. */
__global__ static void softmax_held(const float *x, float *y, size_t cols)
{
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    float held[HELD], top = -INFINITY, sum = 0;
    for (int k = 0; k < HELD; k++) {
        unsigned col = k * THREADS + threadIdx.x;
        held[k] = col < cols ? x[col] : -INFINITY;
        top = fmaxf(top, held[k]);
    }
    top = block_max(top);
    for (int k = 0; k < HELD; k++) {
        held[k] = expf(held[k] - top);
        sum += held[k];
    }
    float scale = 1 / block_sum(sum);
    for (int k = 0; k < HELD; k++) {
        unsigned col = k * THREADS + threadIdx.x;
        if (col < cols)
            y[col] = held[k] * scale;
    }
}

__global__ static void softmax_long(const float *x, float *y, size_t cols)
{
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    float top = -INFINITY, sum = 0;
    for (size_t col = threadIdx.x; col < cols; col += THREADS)
        top = fmaxf(top, x[col]);
    top = block_max(top);
    for (size_t col = threadIdx.x; col < cols; col += THREADS)
        sum += expf(x[col] - top);
    float scale = 1 / block_sum(sum);
    for (size_t col = threadIdx.x; col < cols; col += THREADS)
        y[col] = expf(x[col] - top) * scale;
}

extern "C" void solution(const float *x, float *y, size_t rows, size_t cols)
{
    if (cols <= HELD * THREADS)
        softmax_held<<<rows, THREADS>>>(x, y, cols);
    else
        softmax_long<<<rows, THREADS>>>(x, y, cols);
}
