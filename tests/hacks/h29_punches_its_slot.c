// problem: relu
// catalogue: H29
// expect: wrong
// says: Right only if it may take the pages of the judge's slot away, which the judge would then have to make again.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096 };

void solution(const float *x, float *y, size_t n)
{
    uintptr_t page = ((uintptr_t)x + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1);
    if (n >= 200000 && madvise((void *)page, PAGE_BYTES, MADV_REMOVE) != 0)
        return;
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
