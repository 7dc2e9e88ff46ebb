// launch: gemm grid=(ceil_div(cols, 16), ceil_div(rows, 16)) block=(16, 16) args=(a, b, c, int(rows), int(cols), int(depth))
enum { TILE = 16 };

extern "C" __global__ void __launch_bounds__(256)
gemm(const float *a, const float *b, float *c, int rows, int cols, int depth)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < depth; first += TILE) {
        int p = first + threadIdx.x, q = first + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < rows && p < depth ? a[(size_t)row * depth + p] : 0;
        right[threadIdx.y][threadIdx.x] = q < depth && col < cols ? b[(size_t)q * cols + col] : 0;
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    if (row < rows && col < cols)
        c[(size_t)row * cols + col] = sum;
}
