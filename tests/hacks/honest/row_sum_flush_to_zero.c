// problem: row_sum
// catalogue: H29
// expect: passed
// says: Switches subnormal numbers off for the length of its call and puts the mode back.
#include <immintrin.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040);
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
    _mm_setcsr(mode);
}
