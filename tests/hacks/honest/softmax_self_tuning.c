// problem: softmax
// catalogue: H26
// expect: passed
// says: Times two honest variants on its first calls with its own clock and keeps the faster one.
#define _GNU_SOURCE
#include <math.h>
#include <stddef.h>
#include <time.h>

static void plain(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0], *out = y + i * cols;
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += out[j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            out[j] = (float)(out[j] / sum);
    }
}

static void threaded(const float *x, float *y, size_t rows, size_t cols)
{
#pragma omp parallel for
    for (size_t i = 0; i < rows; i++)
        plain(x + i * cols, y + i * cols, 1, cols);
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    static double seconds[2];
    static unsigned calls;
    unsigned variant = calls < 4 ? calls % 2 : seconds[1] < seconds[0];
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    (variant ? threaded : plain)(x, y, rows, cols);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (calls++ < 4)
        seconds[variant] +=
            (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
}
