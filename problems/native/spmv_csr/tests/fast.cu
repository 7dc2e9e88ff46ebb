// Half a warp for a row, so that neighbouring lanes load neighbouring elements.
#include <stddef.h>
#include <stdint.h>

enum { THREADS = 256, LANES = 16, ROWS = THREADS / LANES };

__global__ static void multiply(const int32_t *__restrict__ start,
                                const int32_t *__restrict__ column, const float *__restrict__ value,
                                const float *__restrict__ x, float *__restrict__ y, size_t rows)
{
    size_t i = blockIdx.x * (size_t)ROWS + threadIdx.x / LANES;
    unsigned lane = threadIdx.x % LANES;
    int64_t end = i < rows ? start[i + 1] : 0; /* all lanes take part in the shuffles below */
    float sum = 0;
    if (i < rows) {
#pragma unroll 4
        for (int64_t p = start[i] + lane; p < end; p += LANES)
            sum += value[p] * x[column[p]];
    }
    for (int step = LANES / 2; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (lane == 0 && i < rows)
        y[i] = sum;
}

extern "C" void solution(const int32_t *start, const int32_t *column, const float *value,
                         const float *x, float *y, size_t rows, size_t cols, size_t nonzeros)
{
    (void)cols;
    (void)nonzeros;
    multiply<<<(rows + ROWS - 1) / ROWS, THREADS>>>(start, column, value, x, y, rows);
}
