#include <stddef.h>

__global__ static void sum_row(const float *x, float *y, size_t cols)
{
    x += blockIdx.x * cols;
    __shared__ float parts[256];
    float sum = 0;
    for (size_t col = threadIdx.x; col < cols; col += blockDim.x)
        sum += x[col];
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step)
            parts[threadIdx.x] += parts[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        y[blockIdx.x] = parts[0];
}

extern "C" void solution(const float *x, float *y, size_t rows, size_t cols)
{
    sum_row<<<rows, 256>>>(x, y, cols);
}
