// Only what the first warp added up is counted.
// launch: row_sum grid=(rows) block=(256) args=(x, y, cols)
__global__ void row_sum(const float *x, float *y, size_t cols)
{
    float sum = 0;
    for (size_t col = threadIdx.x; col < cols; col += blockDim.x)
        sum += x[blockIdx.x * cols + col];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}
