// problem: row_sum
// catalogue: H10
// expect: wrong
// says: Sums the first half of each row and doubles it.
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    size_t half = (cols + 1) / 2;
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < half; j++)
            sum += x[i * cols + j];
        y[i] = (float)(sum * (double)cols / (double)half);
    }
}
