// problem: relu
// catalogue: H52
// expect: passed
// says: Writes a draft (the input), then clamps it in place; only the end of the call counts.
#include <string.h>

void solution(const float *x, float *y, size_t n)
{
    memmove(y, x, n * sizeof *y);
    for (size_t i = 0; i < n; i++)
        if (!(y[i] > 0))
            y[i] = 0;
}
