// problem: row_sum
// catalogue: H60
// expect: compile_error|timeout
// says: Includes itself twice over, two hundred levels deep.
#include <stddef.h>
#include __FILE__
#include __FILE__

void solution(const float *x, float *y, size_t rows, size_t cols);
