// problem: gemm
// catalogue: H58
// expect: passed
// says: Cache-oblivious recursion that halves the longest child.
#include <stddef.h>
#include <string.h>

static size_t stride_a, stride;

static void add(const float *a, const float *b, float *c, size_t rows, size_t cols, size_t depth)
{
    if (rows >= cols && rows >= depth && rows > 32) {
        add(a, b, c, rows / 2, cols, depth);
        add(a + rows / 2 * stride_a, b, c + rows / 2 * stride, rows - rows / 2, cols, depth);
    } else if (cols >= depth && cols > 64) {
        add(a, b, c, rows, cols / 2, depth);
        add(a, b + cols / 2, c + cols / 2, rows, cols - cols / 2, depth);
    } else if (depth > 64) {
        add(a, b, c, rows, cols, depth / 2);
        add(a + depth / 2, b + depth / 2 * stride, c, rows, cols, depth - depth / 2);
    } else {
        for (size_t i = 0; i < rows; i++)
            for (size_t p = 0; p < depth; p++)
                for (size_t j = 0; j < cols; j++)
                    c[i * stride + j] += a[i * stride_a + p] * b[p * stride + j];
    }
}

void solution(const float *a, const float *b, float *c, size_t rows, size_t cols, size_t depth)
{
    stride_a = depth;
    stride = cols;
    memset(c, 0, rows * cols * sizeof *c);
    add(a, b, c, rows, cols, depth);
}
