// problem: relu
// catalogue: H26
// expect: wrong
// says: Skips the work in a third of the calls for a better median: all calls are checked.
#include <stdlib.h>

void solution(const float *x, float *y, size_t n)
{
    static int calls;
    if (calls++ % 3 == 2)
        return;
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
