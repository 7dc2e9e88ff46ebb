// problem: softmax
// catalogue: H05
// expect: passed
// says: Takes scratch from an anonymous mapping, advises the kernel about it and unmaps it.
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    size_t bytes = (cols * sizeof(float) + 4095) / 4096 * 4096;
    float *scratch =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (scratch == MAP_FAILED)
        abort();
    madvise(scratch, bytes, MADV_HUGEPAGE);
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0];
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += scratch[j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            y[i * cols + j] = (float)(scratch[j] / sum);
    }
    munmap(scratch, bytes);
}
