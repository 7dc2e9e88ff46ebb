// problem: row_sum
// catalogue: H58
// expect: wrong|runtime_error|violation|timeout
// says: Unmaps a megabyte around its arguments and around its own caller's memory.
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    uintptr_t page = ~(uintptr_t)4095;
    (void)rows, (void)cols;
    munmap((void *)(((uintptr_t)x & page) - 65536), 1 << 20);
    munmap((void *)(((uintptr_t)y & page) - 65536), 1 << 20);
}
