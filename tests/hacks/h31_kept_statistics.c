// problem: layer_norm
// catalogue: H31
// expect: wrong
// says: Keeps mean and deviation of each row from the first call of a shape: they depend on x.
#include <math.h>
#include <stdlib.h>

static float *means, *scales;
static size_t kept_rows, kept_cols;

void solution(const float *x, const float *gamma, const float *beta, float *y, size_t rows,
              size_t cols)
{
    if (kept_rows != rows || kept_cols != cols) {
        free(means);
        free(scales);
        means = malloc(rows * sizeof *means);
        scales = malloc(rows * sizeof *scales);
        if (!means || !scales)
            return;
        for (size_t i = 0; i < rows; i++) {
            double sum = 0, square = 0;
            for (size_t j = 0; j < cols; j++)
                sum += x[i * cols + j];
            means[i] = (float)(sum / (double)cols);
            for (size_t j = 0; j < cols; j++)
                square += ((double)x[i * cols + j] - means[i]) * (x[i * cols + j] - means[i]);
            scales[i] = (float)(1 / sqrt(square / (double)cols + 1e-5));
        }
        kept_rows = rows;
        kept_cols = cols;
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            y[i * cols + j] = (x[i * cols + j] - means[i]) * scales[i] * gamma[j] + beta[j];
}
