// launch: row_sum grid=(rows) block=(256) shared=4*256 args=(x, y, cols)
__global__ void row_sum(const float *x, float *y, size_t cols)
{
    extern __shared__ float parts[];
    const float *row = x + blockIdx.x * cols;
    float sum = 0;
    for (size_t col = threadIdx.x; col < cols; col += blockDim.x)
        sum += row[col];
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        y[blockIdx.x] = parts[0];
}
