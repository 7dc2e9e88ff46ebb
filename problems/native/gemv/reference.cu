/* y = a * x: a block for the dot product of a row of a with x. */
#include <stddef.h>

__global__ static void gemv_row(const float *a, const float *x, float *y, size_t cols)
{
    a += blockIdx.x * cols;
    __shared__ float parts[256];
    float sum = 0;
    for (size_t j = threadIdx.x; j < cols; j += blockDim.x)
        sum += a[j] * x[j];
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

extern "C" void solution(const float *a, const float *x, float *y, size_t rows, size_t cols)
{
    gemv_row<<<rows, 256>>>(a, x, y, cols);
}
