// problem: row_sum
// catalogue: H60
// expect: compile_error
// says: Includes a file of the host, which would show up in the compiler's message.
#include <stddef.h>
#include "/etc/passwd"

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
}
