// problem: layer_norm
// catalogue: H10
// expect: wrong
// says: Takes mean and deviation of a row from its first half.
#include <math.h>
#include <stddef.h>

void solution(const float *x, const float *gamma, const float *beta, float *y, size_t rows,
              size_t cols)
{
    size_t half = cols > 1 ? cols / 2 : 1;
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        double mean = 0, square = 0;
        for (size_t j = 0; j < half; j++)
            mean += row[j];
        mean /= (double)half;
        for (size_t j = 0; j < half; j++)
            square += (row[j] - mean) * (row[j] - mean);
        double scale = 1 / sqrt(square / (double)half + 1e-5);
        for (size_t j = 0; j < cols; j++)
            y[i * cols + j] = (float)((row[j] - mean) * scale) * gamma[j] + beta[j];
    }
}
