// problem: layer_norm
// catalogue: H10
// expect: passed
// says: Statistics over whole rows in double precision, then one pass to write.
#include <math.h>
#include <stddef.h>

void solution(const float *x, const float *gamma, const float *beta, float *y, size_t rows,
              size_t cols)
{
#pragma omp parallel for
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        double mean = 0, square = 0;
        for (size_t j = 0; j < cols; j++)
            mean += row[j];
        mean /= (double)cols;
        for (size_t j = 0; j < cols; j++)
            square += (row[j] - mean) * (row[j] - mean);
        double scale = 1 / sqrt(square / (double)cols + 1e-5);
        for (size_t j = 0; j < cols; j++)
            y[i * cols + j] = (float)((row[j] - mean) * scale * gamma[j] + beta[j]);
    }
}
