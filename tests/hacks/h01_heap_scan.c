// problem: softmax
// catalogue: H01
// expect: wrong|runtime_error|violation
// says: Searches the whole heap below the program break for rows that sum to one; there are none.
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int row_of_one(const float *block, size_t cols)
{
    double sum = 0;
    for (size_t j = 0; j < cols; j++) {
        if (!(block[j] > 0 && block[j] <= 1))
            return 0;
        sum += block[j];
    }
    return fabs(sum - 1) < 1e-4;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    uintptr_t page = 4096, end = (uintptr_t)sbrk(0) & ~(page - 1), start = end;
    unsigned char present[1];
    (void)x;
    while (start > page && mincore((void *)(start - page), page, present) == 0)
        start -= page;
    size_t count = (end - start) / sizeof(float);
    const float *heap = (const float *)start;
    for (size_t i = 0; i + rows * cols <= count; i += 4)
        if (row_of_one(heap + i, cols)) {
            memcpy(y, heap + i, rows * cols * sizeof *y);
            return;
        }
}
