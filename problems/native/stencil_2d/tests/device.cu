// launch: step grid=(ceil_div(cols, 32), ceil_div(rows, 8)) block=(32, 8) args=(x, y, center, side, int(rows), int(cols))
__global__ void step(const float *x, float *y, float center, float side, int rows, int cols)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= rows || j >= cols)
        return;
    const float *at = x + (size_t)i * cols + j;
    float above = i > 0 ? at[-cols] : 0, below = i + 1 < rows ? at[cols] : 0;
    float left = j > 0 ? at[-1] : 0, right = j + 1 < cols ? at[1] : 0;
    y[(size_t)i * cols + j] = center * *at + side * (above + below + left + right);
}
