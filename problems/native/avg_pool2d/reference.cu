#include <stddef.h>

/* One thread for a window. */
__global__ static void pool(const float *x, float *y, size_t height, size_t width, size_t rows,
                            size_t cols, size_t kernel, size_t stride, size_t padding)
{
    size_t plane = blockIdx.x;
    size_t i = blockIdx.y * (size_t)blockDim.y + threadIdx.y;
    size_t j = blockIdx.z * (size_t)blockDim.x + threadIdx.x;
    if (i >= rows || j >= cols)
        return;
    size_t top = i * stride < padding ? 0 : i * stride - padding;
    size_t left = j * stride < padding ? 0 : j * stride - padding;
    size_t bottom = min(i * stride + kernel - padding, height);
    size_t right = min(j * stride + kernel - padding, width);
    float sum = 0;
    for (size_t row = top; row < bottom; row++)
        for (size_t col = left; col < right; col++)
            sum += x[(plane * height + row) * width + col];
    y[(plane * rows + i) * cols + j] = sum / (float)((bottom - top) * (right - left));
}

extern "C" void solution(const float *x, float *y, size_t planes, size_t height, size_t width,
                         size_t kernel, size_t stride, size_t padding)
{
    size_t rows = (height + 2 * padding - kernel) / stride + 1;
    size_t cols = (width + 2 * padding - kernel) / stride + 1;
    dim3 grid(planes, (rows + 7) / 8, (cols + 31) / 32);
    pool<<<grid, dim3(32, 8)>>>(x, y, height, width, rows, cols, kernel, stride, padding);
}
