// A warp for each row; four rows in a block.
// launch: normalise grid=(ceil_div(rows, 4)) block=(32, 4) args=(x, gamma, y, int(rows), int(cols))
__global__ void normalise(const float *x, const float *gamma, float *y, int rows, int cols)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;
    x += (size_t)row * cols;
    y += (size_t)row * cols;
    float squares = 0;
    for (int col = threadIdx.x; col < cols; col += 32)
        squares += x[col] * x[col];
    for (int step = 16; step > 0; step /= 2)
        squares += __shfl_xor_sync(~0u, squares, step);
    float scale = 1 / sqrtf(squares / cols + 1e-6f);
    for (int col = threadIdx.x; col < cols; col += 32)
        y[col] = x[col] * scale * gamma[col];
}
