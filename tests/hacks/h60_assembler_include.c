// problem: row_sum
// catalogue: H60
// expect: compile_error
// says: Has the assembler include a file of the host; its lines would come back as error messages.
#include <stddef.h>

__asm__(".include \"/etc/passwd\"\n");

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
}
