/* Wrong: adds columns in pairs and forgets the last one of an odd number. */
#include <stddef.h>

__global__ static void sum_row(const float *x, float *y, size_t cols)
{
    x += blockIdx.x * cols;
    float sum = 0;
    for (size_t col = 2 * threadIdx.x; col + 1 < cols; col += 64)
        sum += x[col] + x[col + 1];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}

extern "C" void solution(const float *x, float *y, size_t rows, size_t cols)
{
    sum_row<<<rows, 32>>>(x, y, cols);
}
