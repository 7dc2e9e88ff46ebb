// problem: row_sum
// catalogue: H52
// expect: passed
// says: Frees its scratch in an exit handler and a destructor, and touches nothing else there.
#include <stdlib.h>

static double *partial;
static size_t partial_count;

static void release(void)
{
    free(partial);
    partial = NULL;
}

__attribute__((destructor)) static void unload(void)
{
    release();
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    static int registered;
    if (!registered++)
        atexit(release);
    if (rows > partial_count) {
        free(partial);
        partial = malloc(rows * sizeof *partial);
        if (!partial)
            abort();
        partial_count = rows;
    }
    for (size_t i = 0; i < rows; i++) {
        partial[i] = 0;
        for (size_t j = 0; j < cols; j++)
            partial[i] += x[i * cols + j];
    }
    for (size_t i = 0; i < rows; i++)
        y[i] = (float)partial[i];
}
