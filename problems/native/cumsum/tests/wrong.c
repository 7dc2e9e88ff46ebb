/* Wrong: the columns behind the last full block of eight miss the sum of that block. */
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    size_t full = cols / 8 * 8;

    for (size_t row = 0; row < rows; row++) {
        double sum = 0, before = 0;
        for (size_t col = 0; col < cols; col++) {
            if (col % 8 == 0 && col < full)
                before = sum;
            if (col == full)
                sum = before;
            sum += x[row * cols + col];
            y[row * cols + col] = (float)sum;
        }
    }
}
