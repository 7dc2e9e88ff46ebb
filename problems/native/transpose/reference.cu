/* y[j][i] = x[i][j], a thread for each element. */
#include <stddef.h>

__global__ static void transpose(const float *x, float *y, size_t rows, size_t cols)
{
    size_t i = blockIdx.y * (size_t)blockDim.y + threadIdx.y;
    size_t j = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < rows && j < cols)
        y[j * rows + i] = x[i * cols + j];
}

extern "C" void solution(const float *x, float *y, size_t rows, size_t cols)
{
    dim3 grid((cols + 15) / 16, (rows + 15) / 16), block(16, 16);
    transpose<<<grid, block>>>(x, y, rows, cols);
}
