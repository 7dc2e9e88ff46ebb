// problem: relu
// catalogue: H16
// expect: wrong
// says: Touches nothing, hoping that the poison of the buffer counts as a wildcard.
#include <stddef.h>

void solution(const float *x, float *y, size_t n)
{
    (void)x;
    (void)y;
    (void)n;
}
