// problem: row_sum
// catalogue: H58
// expect: runtime_error
// says: Jumps over the stack's guard page with a frame of several gigabytes.
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    size_t bytes = (size_t)8 << 30;
    __asm__ volatile("" : "+r"(bytes));
    volatile char *frame = __builtin_alloca(bytes);
    (void)x, (void)rows, (void)cols;
    for (size_t i = 0; i < bytes; i += 4096)
        frame[i] = 1;
    y[0] = frame[0];
}
