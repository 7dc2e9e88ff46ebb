#include <stddef.h>

/* One thread for a window. */
__global__ static void pool(const float *x, float *y, size_t height, size_t width, size_t rows,
                            size_t cols, size_t kernel, size_t stride)
{
    size_t plane = blockIdx.x;
    size_t i = blockIdx.y * (size_t)blockDim.y + threadIdx.y;
    size_t j = blockIdx.z * (size_t)blockDim.x + threadIdx.x;
    if (i >= rows || j >= cols)
        return;
    const float *window = x + (plane * height + i * stride) * width + j * stride;
    float best = window[0];
    for (size_t u = 0; u < kernel; u++)
        for (size_t v = 0; v < kernel; v++)
            if (window[u * width + v] > best)
                best = window[u * width + v];
    y[(plane * rows + i) * cols + j] = best;
}

extern "C" void solution(const float *x, float *y, size_t planes, size_t height, size_t width,
                         size_t kernel, size_t stride)
{
    size_t rows = (height - kernel) / stride + 1, cols = (width - kernel) / stride + 1;
    dim3 grid(planes, (rows + 7) / 8, (cols + 31) / 32);
    pool<<<grid, dim3(32, 8)>>>(x, y, height, width, rows, cols, kernel, stride);
}
