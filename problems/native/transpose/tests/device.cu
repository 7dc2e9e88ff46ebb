// Tiles go through shared memory, so that reading and writing both follow rows.
// launch: transpose grid=(ceil_div(cols, 32), ceil_div(rows, 32)) block=(32, 8) args=(x, y, int(rows), int(cols))
enum { TILE = 32, STEP = 8 };

__global__ void transpose(const float *x, float *y, int rows, int cols)
{
    __shared__ float tile[TILE][TILE + 1];
    int col = blockIdx.x * TILE + threadIdx.x;
    for (int k = threadIdx.y; k < TILE; k += STEP) {
        int row = blockIdx.y * TILE + k;
        if (row < rows && col < cols)
            tile[k][threadIdx.x] = x[(size_t)row * cols + col];
    }
    __syncthreads();
    int row = blockIdx.y * TILE + threadIdx.x;
    for (int k = threadIdx.y; k < TILE; k += STEP) {
        col = blockIdx.x * TILE + k;
        if (row < rows && col < cols)
            y[(size_t)col * rows + row] = tile[threadIdx.x][k];
    }
}
