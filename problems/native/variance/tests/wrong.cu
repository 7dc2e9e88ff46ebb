/* Wrong: divides by cols - 1 as soon as there are two columns (the unbiased estimate). */
#include <stddef.h>

__device__ static float sum_of_warp(float sum)
{
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    return sum;
}

__global__ static void variance_of_row(const float *x, float *mean, float *variance, size_t cols)
{
    x += blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (size_t col = threadIdx.x; col < cols; col += 32)
        sum += x[col];
    float middle = sum_of_warp(sum) / cols;
    for (size_t col = threadIdx.x; col < cols; col += 32)
        squares += (x[col] - middle) * (x[col] - middle);
    squares = sum_of_warp(squares);
    if (threadIdx.x == 0) {
        mean[blockIdx.x] = middle;
        variance[blockIdx.x] = squares / (cols > 1 ? cols - 1 : 1);
    }
}

extern "C" void solution(const float *x, float *mean, float *variance, size_t rows, size_t cols)
{
    variance_of_row<<<rows, 32>>>(x, mean, variance, cols);
}
