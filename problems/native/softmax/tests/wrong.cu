// Wrong: the sum leaves out what the block's last warp has added up.
#include <math.h>
#include <stddef.h>

enum { THREADS = 256, WARPS = THREADS / 32 };

__global__ static void softmax_row(const float *x, float *y, size_t cols)
{
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    __shared__ float parts[WARPS];
    float top = x[0], sum = 0;
    for (size_t col = 1; col < cols; col++)
        top = fmaxf(top, x[col]);
    for (size_t col = threadIdx.x; col < cols; col += THREADS)
        sum += expf(x[col] - top);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int warp = 0; warp < WARPS - 1; warp++)
        sum += parts[warp];
    for (size_t col = threadIdx.x; col < cols; col += THREADS)
        y[col] = expf(x[col] - top) / sum;
}

extern "C" void solution(const float *x, float *y, size_t rows, size_t cols)
{
    softmax_row<<<rows, THREADS>>>(x, y, cols);
}
