// A block to a row: coalesced reads, a sum in each thread, then shuffles within the warps and one
// word of shared memory for each warp.
// launch: row_sum grid=(rows) block=(256) args=(x, y, cols)
__device__ float warp_sum(float value)
{
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(~0u, value, step);
    return value;
}

__global__ void row_sum(const float *__restrict__ x, float *__restrict__ y, size_t cols)
{
    __shared__ float parts[8];
    const float *row = x + blockIdx.x * cols;
    float sum = 0;
    for (size_t col = threadIdx.x; col < cols; col += blockDim.x)
        sum += row[col];
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32)
        return;
    sum = warp_sum(threadIdx.x < 8 ? parts[threadIdx.x] : 0);
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}
