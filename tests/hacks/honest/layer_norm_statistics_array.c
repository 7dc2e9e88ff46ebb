// problem: layer_norm
// catalogue: H31
// expect: passed
// says: Keeps an array for the statistics between calls and fills it anew in each of them.
#include <math.h>
#include <stdlib.h>

static struct statistics { double mean, scale; } *kept;
static size_t kept_rows;

void solution(const float *x, const float *gamma, const float *beta, float *y, size_t rows,
              size_t cols)
{
    if (rows > kept_rows) {
        free(kept);
        kept = malloc(rows * sizeof *kept);
        if (!kept)
            abort();
        kept_rows = rows;
    }
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        double sum = 0, square = 0;
        for (size_t j = 0; j < cols; j++)
            sum += row[j];
        kept[i].mean = sum / (double)cols;
        for (size_t j = 0; j < cols; j++)
            square += (row[j] - kept[i].mean) * (row[j] - kept[i].mean);
        kept[i].scale = 1 / sqrt(square / (double)cols + 1e-5);
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            y[i * cols + j] =
                (float)((x[i * cols + j] - kept[i].mean) * kept[i].scale * gamma[j] + beta[j]);
}
