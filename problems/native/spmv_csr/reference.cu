#include <stddef.h>
#include <stdint.h>

/* One thread for a row. */
__global__ static void multiply(const int32_t *start, const int32_t *column, const float *value,
                                const float *x, float *y, size_t rows)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= rows)
        return;
    double sum = 0;
    for (int32_t p = start[i]; p < start[i + 1]; p++)
        sum += (double)value[p] * x[column[p]];
    y[i] = (float)sum;
}

extern "C" void solution(const int32_t *start, const int32_t *column, const float *value,
                         const float *x, float *y, size_t rows, size_t cols, size_t nonzeros)
{
    (void)cols;
    (void)nonzeros;
    multiply<<<(rows + 63) / 64, 64>>>(start, column, value, x, y, rows);
}
