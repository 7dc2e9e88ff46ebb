/* Four rows to a block, so that x is loaded once for all of them; a thread takes four columns of
 * each at a time. Sums through shuffles. */
#include <stddef.h>

enum { ROWS = 4, AHEAD = 4, WARPS = 8, THREADS = 32 * WARPS };

__global__ static void gemv_rows(const float *__restrict__ a, const float *__restrict__ x,
                                 float *__restrict__ y, size_t rows, size_t cols)
{
    __shared__ float parts[ROWS][WARPS];
    size_t first = blockIdx.x * (size_t)ROWS;
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float *in[ROWS];
    float sum[ROWS] = {0};
    /* Past the last row the last one is computed once more and not stored. */
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++)
        in[r] = a + (first + r < rows ? first + r : rows - 1) * cols;
    for (size_t start = threadIdx.x; start < cols; start += AHEAD * THREADS) {
#pragma unroll
        for (unsigned k = 0; k < AHEAD; k++) {
            size_t j = start + k * THREADS;
            bool inside = j < cols;
            float factor = inside ? x[j] : 0;
#pragma unroll
            for (unsigned r = 0; r < ROWS; r++)
                sum[r] += (inside ? in[r][j] : 0) * factor;
        }
    }
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++) {
        for (int step = 16; step > 0; step /= 2)
            sum[r] += __shfl_xor_sync(~0u, sum[r], step);
        if (lane == 0)
            parts[r][warp] = sum[r];
    }
    __syncthreads();
    if (warp > 0)
        return;
    /* Each eight lanes of the first warp take a row: they are as many as there are parts. */
    float total = parts[lane / WARPS][lane % WARPS];
    for (int step = WARPS / 2; step > 0; step /= 2)
        total += __shfl_xor_sync(~0u, total, step);
    if (lane % WARPS == 0 && first + lane / WARPS < rows)
        y[first + lane / WARPS] = total;
}

extern "C" void solution(const float *a, const float *x, float *y, size_t rows, size_t cols)
{
    gemv_rows<<<(rows + ROWS - 1) / ROWS, THREADS>>>(a, x, y, rows, cols);
}
