// problem: row_sum
// catalogue: H58
// expect: runtime_error
// says: Executes an undefined instruction.
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
    __builtin_trap();
}
