// problem: cumsum
// catalogue: H14
// expect: wrong
// says: Restarts the running sum in every block of 256 columns: leaves out the carry.
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++) {
            if (j % 256 == 0)
                sum = 0;
            y[i * cols + j] = (float)(sum += x[i * cols + j]);
        }
    }
}
