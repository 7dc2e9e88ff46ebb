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

__global__ static void variance_of_row(const float *x, float *mean, float *variance, size_t cols)
{
    x += blockIdx.x * cols;
    __shared__ float parts[256];
    float sum = 0, squares = 0;
    for (size_t col = threadIdx.x; col < cols; col += blockDim.x)
        sum += x[col];
    float middle = sum_of_block(sum, parts) / cols;
    for (size_t col = threadIdx.x; col < cols; col += blockDim.x)
        squares += (x[col] - middle) * (x[col] - middle);
    squares = sum_of_block(squares, parts);
    if (threadIdx.x == 0) {
        mean[blockIdx.x] = middle;
        variance[blockIdx.x] = squares / cols;
    }
}

extern "C" void solution(const float *x, float *mean, float *variance, size_t rows, size_t cols)
{
    variance_of_row<<<rows, 256>>>(x, mean, variance, cols);
}
