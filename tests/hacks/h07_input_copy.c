// problem: relu
// catalogue: H07
// expect: wrong
// says: Copies the input, right for the positive half.
#include <string.h>

void solution(const float *x, float *y, size_t n)
{
    memcpy(y, x, n * sizeof *y);
}
