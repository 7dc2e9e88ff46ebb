// Tiles go through shared memory, so that reading and writing both follow rows; one column more
// than needed keeps a tile's columns in different banks.
// launch: transpose grid=(ceil_div(cols, 32), ceil_div(rows, 32)) block=(32, 8) args=(x, y, int(rows), int(cols))
enum { TILE = 32, STEP = 8 };

__global__ void transpose(const float *__restrict__ x, float *__restrict__ y, int rows, int cols)
{
    __shared__ float tile[TILE][TILE + 1];
    int left = blockIdx.x * TILE, top = blockIdx.y * TILE;
    for (int k = threadIdx.y; k < TILE; k += STEP)
        if (top + k < rows && left + threadIdx.x < cols)
            tile[k][threadIdx.x] = x[(size_t)(top + k) * cols + left + threadIdx.x];
    __syncthreads();
    for (int k = threadIdx.y; k < TILE; k += STEP)
        if (left + k < cols && top + threadIdx.x < rows)
            y[(size_t)(left + k) * rows + top + threadIdx.x] = tile[threadIdx.x][k];
}
