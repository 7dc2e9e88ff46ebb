// problem: gemm
// catalogue: H21
// expect: passed
// says: Rows are handed to threads in an order that differs from run to run.
#include <stddef.h>

void solution(const float *a, const float *b, float *c, size_t rows, size_t cols, size_t depth)
{
#pragma omp parallel for schedule(dynamic, 4)
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++)
            c[i * cols + j] = 0;
        for (size_t p = 0; p < depth; p++)
            for (size_t j = 0; j < cols; j++)
                c[i * cols + j] += a[i * depth + p] * b[p * cols + j];
    }
}
