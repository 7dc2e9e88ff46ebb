// problem: relu
// catalogue: H28
// expect: wrong|runtime_error|violation|timeout
// says: Moves the timed input's pages into the place of the output, then repairs the negatives.
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

void solution(const float *x, float *y, size_t n)
{
    uintptr_t from = (uintptr_t)x & ~(uintptr_t)4095, to = (uintptr_t)y & ~(uintptr_t)4095;
    size_t bytes = n * sizeof *y / 4096 * 4096;
    if (n >= 200000 &&
        mremap((void *)from, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)to) == MAP_FAILED)
        return;
    if (n < 200000)
        memcpy(y, x, n * sizeof *y);
    for (size_t i = 0; i < n; i++)
        if (y[i] < 0)
            y[i] = 0;
}
