// problem: row_sum
// catalogue: H60
// expect: wrong
// says: Probes for the reference under many paths and compiles to it if one exists.
#include <stddef.h>

#define solution reference
#if __has_include("reference.c")
#include "reference.c"
#elif __has_include("../reference.c")
#include "../reference.c"
#elif __has_include("problems/native/row_sum/reference.c")
#include "problems/native/row_sum/reference.c"
#elif __has_include("../../problems/native/row_sum/reference.c")
#include "../../problems/native/row_sum/reference.c"
#else
static void reference(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
}
#endif
#undef solution

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    reference(x, y, rows, cols);
}
