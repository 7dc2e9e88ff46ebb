// problem: gemv
// catalogue: H27
// expect: passed
// says: Prefetches ahead within its call, with plain instructions.
#include <stddef.h>

void solution(const float *a, const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = a + i * cols;
        double sum = 0;
        for (size_t j = 0; j < cols; j++) {
            if (j % 16 == 0)
                __builtin_prefetch(row + j + 256);
            sum += (double)row[j] * x[j];
        }
        y[i] = (float)sum;
    }
}
