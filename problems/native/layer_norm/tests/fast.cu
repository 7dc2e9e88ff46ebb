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

__global__ static void normalise_row(const float *__restrict__ x, const float *__restrict__ gamma,
                                     const float *__restrict__ beta, float *__restrict__ y,
                                     size_t cols)
{
    __shared__ float parts[2][WARPS];
    const float *in = x + blockIdx.x * cols;
    float *out = y + blockIdx.x * cols;
    float kept[KEPT], weight[KEPT], shift[KEPT], sum = 0, squares = 0;
    /* Sums start from it: where all are equal, the division would magnify any rounding. */
    float first = in[0];
    /* The weights are not needed yet, but now nobody waits for them. */
#pragma unroll
    for (unsigned k = 0; k < KEPT; k++) {
        unsigned col = threadIdx.x + k * THREADS;
        bool inside = col < cols;
        kept[k] = inside ? in[col] : first;
        weight[k] = inside ? gamma[col] : 0;
        shift[k] = inside ? beta[col] : 0;
        sum += kept[k] - first;
    }
    for (size_t col = threadIdx.x + KEPT * THREADS; col < cols; col += THREADS)
        sum += in[col] - first;
    float mean = first + sum_of_block(sum, parts[0]) / cols;
#pragma unroll
    for (unsigned k = 0; k < KEPT; k++)
        if (threadIdx.x + k * THREADS < cols)
            squares += (kept[k] - mean) * (kept[k] - mean);
    for (size_t col = threadIdx.x + KEPT * THREADS; col < cols; col += THREADS)
        squares += (in[col] - mean) * (in[col] - mean);
    float scale = 1 / sqrtf(sum_of_block(squares, parts[1]) / cols + 1e-5f);
#pragma unroll
    for (unsigned k = 0; k < KEPT; k++)
        if (threadIdx.x + k * THREADS < cols)
            out[threadIdx.x + k * THREADS] = (kept[k] - mean) * scale * weight[k] + shift[k];
    for (size_t col = threadIdx.x + KEPT * THREADS; col < cols; col += THREADS)
        out[col] = (in[col] - mean) * scale * gamma[col] + beta[col];
}

extern "C" void solution(const float *x, const float *gamma, const float *beta, float *y,
                         size_t rows, size_t cols)
{
    normalise_row<<<rows, THREADS>>>(x, gamma, beta, y, cols);
}
