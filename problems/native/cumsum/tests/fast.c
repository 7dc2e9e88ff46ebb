/* Blocks of eight columns: three shifted additions scan a block in a register, and only the carry
 * from block to block is a chain. Four rows at a time hide its latency; threads when large. */
#include <stddef.h>
#include <string.h>

typedef float vector __attribute__((vector_size(32)));

static void scan_rows(const float *x, float *y, size_t rows, size_t cols)
{
    const vector zero = {0};
    float carry[4] = {0};
    size_t col = 0;

    for (; col + 8 <= cols; col += 8) {
        for (size_t row = 0; row < rows; row++) {
            vector v;
            memcpy(&v, x + row * cols + col, sizeof(v));
            v += __builtin_shufflevector(v, zero, 8, 0, 1, 2, 3, 4, 5, 6);
            v += __builtin_shufflevector(v, zero, 8, 8, 0, 1, 2, 3, 4, 5);
            v += __builtin_shufflevector(v, zero, 8, 8, 8, 8, 0, 1, 2, 3);
            v += carry[row];
            carry[row] = v[7];
            memcpy(y + row * cols + col, &v, sizeof(v));
        }
    }
    for (size_t row = 0; row < rows; row++) {
        for (size_t tail = col; tail < cols; tail++) {
            carry[row] += x[row * cols + tail];
            y[row * cols + tail] = carry[row];
        }
    }
}

void solution(const float *restrict x, float *restrict y, size_t rows, size_t cols)
{
    size_t groups = rows / 4;

#pragma omp parallel for schedule(static) if (rows * cols > 65536)
    for (size_t group = 0; group < groups; group++)
        scan_rows(x + group * 4 * cols, y + group * 4 * cols, 4, cols);
    scan_rows(x + groups * 4 * cols, y + groups * 4 * cols, rows % 4, cols);
}
