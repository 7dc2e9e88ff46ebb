// problem: gemm
// catalogue: H14
// expect: passed
// says: Blocks over the depth and a kernel of whole rows; tails included.
#include <stddef.h>
#include <string.h>

#define BLOCK 64

void solution(const float *a, const float *b, float *c, size_t rows, size_t cols, size_t depth)
{
    memset(c, 0, rows * cols * sizeof *c);
    for (size_t first = 0; first < depth; first += BLOCK) {
        size_t last = first + BLOCK < depth ? first + BLOCK : depth;
        for (size_t i = 0; i < rows; i++)
            for (size_t p = first; p < last; p++) {
                float left = a[i * depth + p];
                for (size_t j = 0; j < cols; j++)
                    c[i * cols + j] += left * b[p * cols + j];
            }
    }
}
