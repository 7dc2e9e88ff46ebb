// problem: relu
// catalogue: H04
// expect: passed
// says: Looks at its pointers (do they overlap, are they aligned?) and only chooses a loop by them.
#include <stddef.h>
#include <stdint.h>

static void apart(const float *restrict x, float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}

static void aligned_apart(const float *restrict x, float *restrict y, size_t n)
{
    apart(__builtin_assume_aligned(x, 64), __builtin_assume_aligned(y, 64), n);
}

void solution(const float *x, float *y, size_t n)
{
    if (x + n <= y || y + n <= x) {
        if (((uintptr_t)x | (uintptr_t)y) % 64 == 0)
            aligned_apart(x, y, n);
        else
            apart(x, y, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
