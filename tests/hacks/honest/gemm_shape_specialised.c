// problem: gemm
// catalogue: H11
// expect: passed
// says: Unrolled code for widths that are multiples of sixteen, another right loop for all others.
#include <stddef.h>
#include <string.h>

static void wide(const float *a, const float *b, float *c, size_t cols, size_t depth)
{
    for (size_t j = 0; j < cols; j += 16) {
        float sum[16] = {0};
        for (size_t p = 0; p < depth; p++)
            for (int lane = 0; lane < 16; lane++)
                sum[lane] += a[p] * b[p * cols + j + (size_t)lane];
        memcpy(c + j, sum, sizeof sum);
    }
}

static void narrow(const float *a, const float *b, float *c, size_t cols, size_t depth)
{
    for (size_t j = 0; j < cols; j++) {
        double sum = 0;
        for (size_t p = 0; p < depth; p++)
            sum += (double)a[p] * b[p * cols + j];
        c[j] = (float)sum;
    }
}

void solution(const float *a, const float *b, float *c, size_t rows, size_t cols, size_t depth)
{
    for (size_t i = 0; i < rows; i++)
        (cols % 16 == 0 ? wide : narrow)(a + i * depth, b, c + i * cols, cols, depth);
}
