// problem: relu
// catalogue: H28
// expect: wrong|runtime_error|violation|timeout
// says: Maps zero pages over the timed output instead of writing it: no time, and no output either.
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>

void solution(const float *x, float *y, size_t n)
{
    uintptr_t start = ((uintptr_t)y + 4095) & ~(uintptr_t)4095;
    uintptr_t end = (uintptr_t)(y + n) & ~(uintptr_t)4095;
    if (n < 200000) {
        for (size_t i = 0; i < n; i++)
            y[i] = x[i] > 0 ? x[i] : 0;
        return;
    }
    mmap((void *)start, end - start, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}
