// launch: softmax_rows grid=(rows) block=(256) args=(x, y, int(cols))
#include <cmath>
__device__ float reduce(float value, bool sum)
{
    __shared__ float parts[8];
    for (int step = 16; step > 0; step /= 2) {
        float other = __shfl_xor_sync(~0u, value, step);
        value = sum ? value + other : fmaxf(value, other);
    }
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = parts[0];
    for (int i = 1; i < 8; i++)
        value = sum ? value + parts[i] : fmaxf(value, parts[i]);
    __syncthreads();
    return value;
}
__global__ void softmax_rows(const float *x, float *y, int cols)
{
    x += (size_t)blockIdx.x * cols;
    y += (size_t)blockIdx.x * cols;
    float top = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < cols; i += 256)
        top = fmaxf(top, x[i]);
    top = reduce(top, false);
    for (int i = threadIdx.x; i < cols; i += 256)
        sum += expf(x[i] - top);
    float scale = 1 / reduce(sum, true);
    for (int i = threadIdx.x; i < cols; i += 256)
        y[i] = expf(x[i] - top) * scale;
}
