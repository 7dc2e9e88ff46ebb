/* A block to a row, in vectors of four from the first aligned column on; sums through shuffles. */
#include <stddef.h>

enum { WARPS = 8, THREADS = 32 * WARPS };

__global__ static void sum_row(const float *__restrict__ x, float *__restrict__ y, size_t cols)
{
    __shared__ float parts[WARPS];
    size_t start = blockIdx.x * cols, thread = threadIdx.x;
    const float *in = x + start;
    size_t head = (4 - start % 4) % 4;
    head = head < cols ? head : cols;
    size_t vectors = (cols - head) / 4, tail = head + 4 * vectors;
    float sum = thread < head ? in[thread] : 0;
    if (tail + thread < cols)
        sum += in[tail + thread];
    const float4 *wide = (const float4 *)(in + head);
    for (size_t i = thread; i < vectors; i += THREADS) {
        float4 v = wide[i];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (thread % 32 == 0)
        parts[thread / 32] = sum;
    __syncthreads();
    if (thread >= 32)
        return;
    sum = parts[thread % WARPS];
    for (int step = WARPS / 2; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (thread == 0)
        y[blockIdx.x] = sum;
}

extern "C" void solution(const float *x, float *y, size_t rows, size_t cols)
{
    sum_row<<<rows, THREADS>>>(x, y, cols);
}
