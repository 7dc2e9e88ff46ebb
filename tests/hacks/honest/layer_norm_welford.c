// problem: layer_norm
// catalogue: H14
// expect: passed
// says: Welford's one-pass statistics: half the reads, the same answer.
#include <math.h>
#include <stddef.h>

void solution(const float *x, const float *gamma, const float *beta, float *y, size_t rows,
              size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        double mean = 0, square = 0;
        for (size_t j = 0; j < cols; j++) {
            double delta = row[j] - mean;
            mean += delta / (double)(j + 1);
            square += delta * (row[j] - mean);
        }
        double scale = 1 / sqrt(square / (double)cols + 1e-5);
        for (size_t j = 0; j < cols; j++)
            y[i * cols + j] = (float)((row[j] - mean) * scale * gamma[j] + beta[j]);
    }
}
