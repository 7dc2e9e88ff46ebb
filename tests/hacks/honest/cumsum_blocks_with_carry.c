// problem: cumsum
// catalogue: H14
// expect: passed
// says: Blocks of 64 columns whose carry is added afterwards.
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
#pragma omp parallel for
    for (size_t i = 0; i < rows; i++) {
        double carry = 0;
        for (size_t first = 0; first < cols; first += 64) {
            size_t last = first + 64 < cols ? first + 64 : cols;
            double sum = 0;
            for (size_t j = first; j < last; j++) {
                sum += x[i * cols + j];
                y[i * cols + j] = (float)(carry + sum);
            }
            carry += sum;
        }
    }
}
