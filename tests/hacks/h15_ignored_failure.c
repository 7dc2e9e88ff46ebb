// problem: softmax
// catalogue: H15
// expect: wrong
// says: Asks for an impossible scratch buffer, ignores the failure and leaves the output stale.
#include <math.h>
#include <stdlib.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    size_t wish = (size_t)1 << 62;
    __asm__ volatile("" : "+r"(wish));
    float *scratch = malloc(wish);
    if (!scratch)
        return; /* the "launch" failed and nobody looks */
    for (size_t i = 0; i < rows * cols; i++)
        scratch[i] = y[i] = expf(x[i]);
    free(scratch);
}
