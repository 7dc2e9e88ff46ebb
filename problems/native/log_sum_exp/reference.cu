#include <math.h>
#include <stddef.h>

__global__ static void log_sum_exp_row(const float *x, float *y, size_t cols)
{
    x += blockIdx.x * cols;
    __shared__ float parts[256];
    float largest = -INFINITY;
    for (size_t col = threadIdx.x; col < cols; col += blockDim.x)
        largest = fmaxf(largest, x[col]);
    parts[threadIdx.x] = largest;
    __syncthreads();
    for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step)
            parts[threadIdx.x] = fmaxf(parts[threadIdx.x], parts[threadIdx.x + step]);
        __syncthreads();
    }
    largest = parts[0];
    __syncthreads();
    float sum = 0;
    for (size_t col = threadIdx.x; col < cols; col += blockDim.x)
        sum += expf(x[col] - largest);
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step)
            parts[threadIdx.x] += parts[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        y[blockIdx.x] = largest + logf(parts[0]);
}

extern "C" void solution(const float *x, float *y, size_t rows, size_t cols)
{
    log_sum_exp_row<<<rows, 256>>>(x, y, cols);
}
