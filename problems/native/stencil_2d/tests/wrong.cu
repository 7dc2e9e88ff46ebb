// Wrong: asks the warp for the neighbours to the left and right, and takes those of other warps for
// the outside of the grid.
#include <stddef.h>

__global__ static void step(const float *x, float *y, float center, float side, size_t rows,
                            size_t cols)
{
    size_t i = blockIdx.x * (size_t)blockDim.y + threadIdx.y;
    size_t j = blockIdx.y * (size_t)blockDim.x + threadIdx.x;
    bool inside = i < rows && j < cols;
    float own = inside ? x[i * cols + j] : 0;
    float left = __shfl_up_sync(~0u, own, 1), right = __shfl_down_sync(~0u, own, 1);
    if (threadIdx.x == 0)
        left = 0;
    if (threadIdx.x == 31)
        right = 0;
    if (!inside)
        return;
    float above = i > 0 ? x[(i - 1) * cols + j] : 0;
    float below = i + 1 < rows ? x[(i + 1) * cols + j] : 0;
    y[i * cols + j] = center * own + side * (above + below + left + right);
}

extern "C" void solution(const float *x, float *y, float center, float side, size_t rows,
                         size_t cols)
{
    dim3 grid((rows + 7) / 8, (cols + 31) / 32);
    step<<<grid, dim3(32, 8)>>>(x, y, center, side, rows, cols);
}
