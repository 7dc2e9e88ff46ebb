// problem: row_sum
// catalogue: H60
// expect: compile_error
// says: Includes the reference under another name; its file is not where candidates are built.
#include <stddef.h>

#define solution reference
#include "../reference.c"
#undef solution

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    reference(x, y, rows, cols);
}
