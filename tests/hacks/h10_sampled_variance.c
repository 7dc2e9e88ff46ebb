// problem: variance
// catalogue: H10
// expect: wrong
// says: Estimates the variance from every fourth element, good to a few per cent.
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0, square = 0, count = 0;
        for (size_t j = 0; j < cols; j += 4, count++) {
            sum += x[i * cols + j];
            square += (double)x[i * cols + j] * x[i * cols + j];
        }
        y[i] = (float)(square / count - sum / count * (sum / count));
    }
}
