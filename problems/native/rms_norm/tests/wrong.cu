/* Wrong: takes rows in pairs and, of an odd number above one, never writes the last. */
#include <stddef.h>

/* A block of two warps, each with a row of its own. */
__global__ static void normalise_rows(const float *x, const float *gamma, float *y, size_t rows,
                                      size_t cols)
{
    size_t row = 2 * (size_t)blockIdx.x + threadIdx.x / 32;
    if (row >= rows)
        return;
    x += row * cols;
    y += row * cols;
    float squares = 0;
    for (size_t col = threadIdx.x % 32; col < cols; col += 32)
        squares += x[col] * x[col];
    for (int step = 16; step > 0; step /= 2)
        squares += __shfl_xor_sync(~0u, squares, step);
    float scale = 1 / sqrtf(squares / cols + 1e-6f);
    for (size_t col = threadIdx.x % 32; col < cols; col += 32)
        y[col] = x[col] * scale * gamma[col];
}

extern "C" void solution(const float *x, const float *gamma, float *y, size_t rows, size_t cols)
{
    size_t blocks = rows > 1 ? rows / 2 : 1;
    normalise_rows<<<blocks, 64>>>(x, gamma, y, rows, cols);
}
