/* Wrong: takes four steps of the depth at once and forgets the depth % 4 that remain. */
#include <stddef.h>

__global__ static void gemm(const float *a, const float *b, float *c, size_t rows, size_t cols,
                            size_t depth)
{
    size_t i = blockIdx.y * (size_t)blockDim.y + threadIdx.y;
    size_t j = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= rows || j >= cols)
        return;
    float sum = 0;
    for (size_t p = 0; p + 4 <= depth; p += 4)
        for (size_t q = p; q < p + 4; q++)
            sum += a[i * depth + q] * b[q * cols + j];
    c[i * cols + j] = sum;
}

extern "C" void solution(const float *a, const float *b, float *c, size_t rows, size_t cols,
                         size_t depth)
{
    dim3 grid((cols + 15) / 16, (rows + 15) / 16), block(16, 16);
    gemm<<<grid, block>>>(a, b, c, rows, cols, depth);
}
