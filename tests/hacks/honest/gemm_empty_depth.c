// problem: gemm
// catalogue: H45
// expect: passed
// says: Has a branch for an empty inner dimension that no test takes: defensive, no ghost.
#include <stddef.h>
#include <string.h>

void solution(const float *a, const float *b, float *c, size_t rows, size_t cols, size_t depth)
{
    memset(c, 0, rows * cols * sizeof *c);
    if (depth == 0 || rows == 0 || cols == 0)
        return;
    for (size_t i = 0; i < rows; i++)
        for (size_t p = 0; p < depth; p++) {
            float left = a[i * depth + p];
            for (size_t j = 0; j < cols; j++)
                c[i * cols + j] += left * b[p * cols + j];
        }
}
