// problem: row_sum
// catalogue: H60
// expect: compile_error|timeout|out_of_memory
// says: Macros that double twenty-seven times; the compiler runs into its limits, not the judge.
#include <stddef.h>

#define A1(x) x + x
#define A2(x) A1(A1(A1(A1(A1(x)))))
#define A3(x) A2(A2(A2(A2(A2(x)))))

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)rows, (void)cols;
    y[0] = A3(A1(A1(1)));
}
