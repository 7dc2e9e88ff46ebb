/* Reads a row once: its first 1024 columns stay in registers. Sums through shuffles. */
#include <stddef.h>

enum { WARPS = 8, THREADS = 32 * WARPS, KEPT = 4 };

/* The sum over the block, for each of its threads. `parts` must not be in use any more. */
__device__ static float sum_of_block(float sum, float *parts)
{
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

__global__ static void variance_of_row(const float *__restrict__ x, float *__restrict__ mean,
                                       float *__restrict__ variance, size_t cols)
{
    __shared__ float parts[2][WARPS];
    const float *in = x + blockIdx.x * cols;
    float kept[KEPT], sum = 0, squares = 0;
#pragma unroll
    for (unsigned k = 0; k < KEPT; k++) {
        unsigned col = threadIdx.x + k * THREADS;
        kept[k] = col < cols ? in[col] : 0;
        sum += kept[k];
    }
    for (size_t col = threadIdx.x + KEPT * THREADS; col < cols; col += THREADS)
        sum += in[col];
    float middle = sum_of_block(sum, parts[0]) / cols;
#pragma unroll
    for (unsigned k = 0; k < KEPT; k++)
        if (threadIdx.x + k * THREADS < cols)
            squares += (kept[k] - middle) * (kept[k] - middle);
    for (size_t col = threadIdx.x + KEPT * THREADS; col < cols; col += THREADS)
        squares += (in[col] - middle) * (in[col] - middle);
    squares = sum_of_block(squares, parts[1]);
    if (threadIdx.x == 0) {
        mean[blockIdx.x] = middle;
        variance[blockIdx.x] = squares / cols;
    }
}

extern "C" void solution(const float *x, float *mean, float *variance, size_t rows, size_t cols)
{
    variance_of_row<<<rows, THREADS>>>(x, mean, variance, cols);
}
