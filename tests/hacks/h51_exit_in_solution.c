// problem: softmax
// catalogue: H51
// expect: runtime_error|violation
// says: Ends the process with status 0 in the middle of a call.
#include <stddef.h>
#include <stdlib.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
    exit(0);
}
