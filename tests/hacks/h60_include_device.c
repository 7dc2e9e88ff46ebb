// problem: row_sum
// catalogue: H60
// expect: compile_error|timeout
// says: Includes an endless device and the compiler's own standard input.
#include <stddef.h>
#include "/dev/stdin"
#include "/dev/zero"

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
}
