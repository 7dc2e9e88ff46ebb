// Reads a row once: every thread keeps a maximum of its own and a sum that is relative to it, and
// only at the end are they brought to the row's maximum.
#include <math.h>
#include <stddef.h>

enum { THREADS = 128, WARPS = THREADS / 32, HELD = 8 };

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

__global__ static void log_sum_exp_row(const float *x, float *y, size_t cols)
{
    x += blockIdx.x * cols;
    float own = -INFINITY, sum = 0;
    for (size_t first = threadIdx.x; first < cols; first += HELD * THREADS) {
        float held[HELD], before = own;
        for (int k = 0; k < HELD; k++) {
            size_t col = first + k * THREADS;
            held[k] = col < cols ? x[col] : -INFINITY;
            own = fmaxf(own, held[k]);
        }
        sum *= expf(before - own);
        for (int k = 0; k < HELD; k++)
            sum += expf(held[k] - own);
    }
    float top = block_max(own);
    sum = block_sum(sum * expf(own - top));
    if (threadIdx.x == 0)
        y[blockIdx.x] = top + logf(sum);
}

extern "C" void solution(const float *x, float *y, size_t rows, size_t cols)
{
    log_sum_exp_row<<<rows, THREADS>>>(x, y, cols);
}
