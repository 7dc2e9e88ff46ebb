// problem: row_sum
// catalogue: H58
// expect: runtime_error
// says: Recurses without end.
#include <stddef.h>

static volatile int deeper = 1;

static __attribute__((noinline)) int descend(int level)
{
    volatile char frame[4096];
    frame[level % 4096] = (char)level;
    return deeper ? descend(level + 1) + frame[level % 4096] : 0;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)rows, (void)cols;
    y[0] = (float)descend(0);
}
