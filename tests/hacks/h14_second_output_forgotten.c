// problem: variance
// catalogue: H14
// expect: wrong
// says: Computes the means and leaves the second output to chance.
#include <stddef.h>

void solution(const float *x, float *mean, float *variance, size_t rows, size_t cols)
{
    (void)variance;
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        mean[i] = (float)(sum / (double)cols);
    }
}
