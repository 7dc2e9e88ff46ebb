// problem: softmax
// catalogue: H51
// expect: load_error|runtime_error|violation
// says: A constructor ends the process with status 0 before anything can be checked.
#include <stddef.h>
#include <stdlib.h>

__attribute__((constructor)) static void leave(void)
{
    exit(0);
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
}
