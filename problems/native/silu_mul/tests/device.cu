// launch: gate grid=(ceil_div(cols, 128), rows) block=(128) args=(x, y, int(cols))
__global__ void gate(const float *x, float *y, int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= cols)
        return;
    const float *row = x + (size_t)blockIdx.y * 2 * cols;
    y[(size_t)blockIdx.y * cols + col] = row[col] / (1 + expf(-row[col])) * row[cols + col];
}
