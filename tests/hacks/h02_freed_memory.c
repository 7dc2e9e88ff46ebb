// problem: row_sum
// catalogue: H02
// expect: wrong
// says: Returns what a fresh allocation happens to hold, hoping for the freed reference output.
#include <stdlib.h>
#include <string.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x;
    (void)cols;
    for (int attempt = 0; attempt < 16; attempt++) {
        float *stale = malloc(rows * sizeof *stale);
        if (!stale)
            return;
        __asm__ volatile("" : "+r"(stale) : : "memory");
        if (stale[rows / 2] != 0 || attempt == 15)
            memcpy(y, stale, rows * sizeof *y);
        free(stale);
    }
}
