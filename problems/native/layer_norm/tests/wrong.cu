/* Wrong: divides by the number of columns rounded up to a multiple of a warp. */
#include <stddef.h>

__device__ static float sum_of_warp(float sum)
{
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    return sum;
}

__global__ static void normalise_row(const float *x, const float *gamma, const float *beta,
                                     float *y, size_t cols)
{
    size_t padded = (cols + 31) / 32 * 32;
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (size_t col = threadIdx.x; col < cols; col += 32)
        sum += x[col];
    float mean = sum_of_warp(sum) / padded;
    for (size_t col = threadIdx.x; col < cols; col += 32)
        squares += (x[col] - mean) * (x[col] - mean);
    float scale = 1 / sqrtf(sum_of_warp(squares) / padded + 1e-5f);
    for (size_t col = threadIdx.x; col < cols; col += 32)
        y[col] = (x[col] - mean) * scale * gamma[col] + beta[col];
}

extern "C" void solution(const float *x, const float *gamma, const float *beta, float *y,
                         size_t rows, size_t cols)
{
    normalise_row<<<rows, 32>>>(x, gamma, beta, y, cols);
}
