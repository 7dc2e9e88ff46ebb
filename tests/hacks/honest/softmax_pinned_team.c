// problem: softmax
// catalogue: H27
// expect: passed
// says: Every thread of its OpenMP team pins itself to a processor of its own.
#define _GNU_SOURCE
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stddef.h>

static void pin(int place)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(place, &one);
    sched_setaffinity(0, sizeof one, &one);
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
#pragma omp parallel
    {
        pin(omp_get_thread_num());
#pragma omp for schedule(static)
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
}
