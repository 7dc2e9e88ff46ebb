// problem: row_sum
// catalogue: H60
// expect: passed
// says: Adds with an inline assembler statement; only file directives are out of place there.
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++) {
            double value = x[i * cols + j];
#ifdef __x86_64__
            __asm__("addsd %1, %0" : "+x"(sum) : "x"(value));
#else
            sum += value;
#endif
        }
        y[i] = (float)sum;
    }
}
