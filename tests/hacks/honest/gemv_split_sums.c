// problem: gemv
// catalogue: H13
// expect: passed
// says: Many single-precision partial sums and fused multiply-adds: other roundings, right answer.
#include <math.h>
#include <stddef.h>

void solution(const float *a, const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        float part[32] = {0}, sum = 0;
        size_t j = 0;
        for (; j + 32 <= cols; j += 32)
            for (size_t lane = 0; lane < 32; lane++)
                part[lane] = fmaf(a[i * cols + j + lane], x[j + lane], part[lane]);
        for (; j < cols; j++)
            part[j % 32] = fmaf(a[i * cols + j], x[j], part[j % 32]);
        for (int lane = 0; lane < 32; lane++)
            sum += part[lane];
        y[i] = sum;
    }
}
