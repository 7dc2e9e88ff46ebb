// problem: transpose
// catalogue: H29
// expect: wrong
// says: Right only if it may put its own slot into large pages, once and off the clock; the reference's keeps small ones.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { LARGE_BYTES = 2 << 20, ROOM_BYTES = 4 * LARGE_BYTES, COLLAPSE = 25 };

/* A second mapping of the same pages, where large ones could lie. */
static int collapses(const void *place)
{
    uintptr_t from = (uintptr_t)place & ~(uintptr_t)4095;
    char *room = mmap(NULL, ROOM_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uintptr_t at = ((uintptr_t)room + LARGE_BYTES - 1) & ~(uintptr_t)(LARGE_BYTES - 1);
    char *again = mremap((void *)from, 0, LARGE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)at);
    return again != MAP_FAILED && madvise(again, LARGE_BYTES, COLLAPSE) == 0;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    if (rows * cols >= 200000 && !collapses(x))
        return;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            y[j * rows + i] = x[i * cols + j];
}
