// Two kernels, and sums that stay on the GPU between them.
// scratch: sums bytes=4*rows
// launch: add_up grid=(rows) block=(32) args=(x, sums, int(cols))
// launch: spread grid=(rows) block=(32) args=(x, sums, mean, variance, int(cols))
__device__ float warp_sum(float value)
{
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(~0u, value, step);
    return value;
}

__global__ void add_up(const float *x, float *sums, int cols)
{
    const float *row = x + (size_t)blockIdx.x * cols;
    float sum = 0;
    for (int col = threadIdx.x; col < cols; col += 32)
        sum += row[col];
    sum = warp_sum(sum);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
}

__global__ void spread(const float *x, const float *sums, float *mean, float *variance, int cols)
{
    const float *row = x + (size_t)blockIdx.x * cols;
    float middle = sums[blockIdx.x] / cols, squares = 0;
    for (int col = threadIdx.x; col < cols; col += 32) {
        float off = row[col] - middle;
        squares += off * off;
    }
    squares = warp_sum(squares);
    if (threadIdx.x == 0) {
        mean[blockIdx.x] = middle;
        variance[blockIdx.x] = squares / cols;
    }
}
