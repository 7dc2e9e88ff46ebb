// Gathers x in SIMD lanes; threads take rows in small portions, because rows differ in length.
#include <stddef.h>
#include <stdint.h>

static float sum_row(const int32_t *column, const float *value, const float *x, size_t count)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t p = 0; p < count; p++)
        sum += value[p] * x[column[p]];
    return sum;
}

void solution(const int32_t *start, const int32_t *column, const float *value, const float *x,
              float *y, size_t rows, size_t cols, size_t nonzeros)
{
    (void)cols;
#pragma omp parallel for schedule(dynamic, 64) if (nonzeros > 20000)
    for (size_t i = 0; i < rows; i++)
        y[i] = sum_row(column + start[i], value + start[i], x, (size_t)(start[i + 1] - start[i]));
}
