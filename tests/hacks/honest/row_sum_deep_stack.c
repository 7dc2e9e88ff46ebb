// problem: row_sum
// catalogue: H58
// expect: passed
// says: Half a megabyte of stack, well within the limit.
#include <stddef.h>
#include <string.h>

static __attribute__((noinline)) double total(const float *row, size_t cols)
{
    volatile double lanes[65536];
    double sum = 0;
    memset((void *)lanes, 0, sizeof lanes);
    for (size_t j = 0; j < cols; j++)
        lanes[j % 64] += row[j];
    for (size_t lane = 0; lane < 64; lane++)
        sum += lanes[lane];
    return sum;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    double sum = total(x, rows * cols > 64 ? 64 : rows * cols);
    (void)sum; /* once is enough to touch the frame */
    for (size_t i = 0; i < rows; i++) {
        sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}
