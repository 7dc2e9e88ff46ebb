// problem: variance
// catalogue: H10
// expect: wrong
// says: Estimates the variance from every fourth element, good to a few per cent.
#include <stddef.h>

void solution(const float *x, float *mean, float *variance, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0, square = 0, count = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        mean[i] = (float)(sum / (double)cols);
        for (size_t j = 0; j < cols; j += 4, count++)
            square += ((double)x[i * cols + j] - mean[i]) * (x[i * cols + j] - mean[i]);
        variance[i] = (float)(square / count);
    }
}
