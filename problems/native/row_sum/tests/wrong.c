/* Wrong: adds columns in pairs and forgets the last one of an odd number. */
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t row = 0; row < rows; row++) {
        double even = 0, odd = 0;
        for (size_t col = 0; col + 1 < cols; col += 2) {
            even += x[row * cols + col];
            odd += x[row * cols + col + 1];
        }
        y[row] = even + odd;
    }
}
