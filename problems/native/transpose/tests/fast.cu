/* Goes through tiles of 32 x 32 in shared memory, so that reads and writes both follow rows. */
#include <stddef.h>

enum { TILE = 32, HEIGHT = 8 };

__global__ static void transpose(const float *__restrict__ x, float *__restrict__ y, size_t rows,
                                 size_t cols)
{
    /* One more column, so that the elements of a column lie in 32 different banks. */
    __shared__ float tile[TILE][TILE + 1];
    size_t row = blockIdx.y * (size_t)TILE, col = blockIdx.x * (size_t)TILE;
    unsigned across = threadIdx.x;
#pragma unroll
    for (unsigned k = 0; k < TILE; k += HEIGHT) {
        unsigned down = threadIdx.y + k;
        if (row + down < rows && col + across < cols)
            tile[down][across] = x[(row + down) * cols + col + across];
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < TILE; k += HEIGHT) {
        unsigned down = threadIdx.y + k;
        if (col + down < cols && row + across < rows)
            y[(col + down) * rows + row + across] = tile[across][down];
    }
}

extern "C" void solution(const float *x, float *y, size_t rows, size_t cols)
{
    dim3 grid((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE), block(TILE, HEIGHT);
    transpose<<<grid, block>>>(x, y, rows, cols);
}
