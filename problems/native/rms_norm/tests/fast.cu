/* Reads a row once: its first 1024 columns stay in registers. Sums through shuffles. */
#include <stddef.h>

enum { WARPS = 8, THREADS = 32 * WARPS, KEPT = 4 };

/* The sum over the block, for each of its threads. */
__device__ static float sum_of_block(float sum)
{
    __shared__ float parts[WARPS];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = parts[threadIdx.x % WARPS];
    for (int step = WARPS / 2; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    return sum;
}

__global__ static void normalise_row(const float *__restrict__ x, const float *__restrict__ gamma,
                                     float *__restrict__ y, size_t cols)
{
    const float *in = x + blockIdx.x * cols;
    float *out = y + blockIdx.x * cols;
    float kept[KEPT], weight[KEPT], squares = 0;
    /* The weights are not needed yet, but now nobody waits for them. */
#pragma unroll
    for (unsigned k = 0; k < KEPT; k++) {
        unsigned col = threadIdx.x + k * THREADS;
        bool inside = col < cols;
        kept[k] = inside ? in[col] : 0;
        weight[k] = inside ? gamma[col] : 0;
        squares += kept[k] * kept[k];
    }
    for (size_t col = threadIdx.x + KEPT * THREADS; col < cols; col += THREADS)
        squares += in[col] * in[col];
    float scale = 1 / sqrtf(sum_of_block(squares) / cols + 1e-6f);
#pragma unroll
    for (unsigned k = 0; k < KEPT; k++)
        if (threadIdx.x + k * THREADS < cols)
            out[threadIdx.x + k * THREADS] = kept[k] * scale * weight[k];
    for (size_t col = threadIdx.x + KEPT * THREADS; col < cols; col += THREADS)
        out[col] = in[col] * scale * gamma[col];
}

extern "C" void solution(const float *x, const float *gamma, float *y, size_t rows, size_t cols)
{
    normalise_row<<<rows, THREADS>>>(x, gamma, y, cols);
}
