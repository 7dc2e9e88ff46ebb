#include <stddef.h>

/* The sum over a block of 256 threads, for each of them. */
__device__ static float sum_of_block(float part, float *parts)
{
    parts[threadIdx.x] = part;
    __syncthreads();
    for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step)
            parts[threadIdx.x] += parts[threadIdx.x + step];
        __syncthreads();
    }
    float sum = parts[0];
    __syncthreads();
    return sum;
}

__global__ static void normalise_row(const float *x, const float *gamma, const float *beta,
                                     float *y, size_t cols)
{
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    __shared__ float parts[256];
    float sum = 0, squares = 0;
    /* From the first element on: where all are equal, the division would magnify any rounding. */
    for (size_t col = threadIdx.x; col < cols; col += blockDim.x)
        sum += x[col] - x[0];
    float mean = x[0] + sum_of_block(sum, parts) / cols;
    for (size_t col = threadIdx.x; col < cols; col += blockDim.x)
        squares += (x[col] - mean) * (x[col] - mean);
    float scale = 1 / sqrtf(sum_of_block(squares, parts) / cols + 1e-5f);
    for (size_t col = threadIdx.x; col < cols; col += blockDim.x)
        y[col] = (x[col] - mean) * scale * gamma[col] + beta[col];
}

extern "C" void solution(const float *x, const float *gamma, const float *beta, float *y,
                         size_t rows, size_t cols)
{
    normalise_row<<<rows, 256>>>(x, gamma, beta, y, cols);
}
