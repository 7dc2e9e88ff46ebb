// relu: wrong
// Hopes that an earlier right answer still lies there; the judge has poisoned it.
#include <stddef.h>

extern "C" void solution(const float *x, float *y, size_t n)
{
    (void)x, (void)y, (void)n;
}
