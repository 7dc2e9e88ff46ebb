// problem: row_sum
// catalogue: H60
// expect: load_error|compile_error
// says: Compiles to nothing at all: the entry point is hidden behind a macro.
#include <stddef.h>

#if 0
void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
}
#endif
static int nothing __attribute__((unused));
