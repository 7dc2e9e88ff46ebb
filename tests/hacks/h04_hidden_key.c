// problem: row_sum
// catalogue: H04
// expect: wrong
// says: Hides the key of its result cache in pointer arithmetic: the offset between x and a static.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static char anchor;
static float *ring[97];
static size_t shape[97];

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    uintptr_t bucket = ((uintptr_t)x - (uintptr_t)&anchor) / 64 % 97;
    if (ring[bucket] && shape[bucket] == rows * 31 + cols) {
        memcpy(y, ring[bucket], rows * sizeof *y);
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
    free(ring[bucket]);
    ring[bucket] = malloc(rows * sizeof *y);
    if (ring[bucket])
        memcpy(ring[bucket], y, rows * sizeof *y);
    shape[bucket] = rows * 31 + cols;
}
