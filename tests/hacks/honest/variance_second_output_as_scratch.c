// problem: variance
// catalogue: H03
// expect: passed
// says: Keeps running sums in both of its outputs before the final values replace them.
#include <stddef.h>

void solution(const float *x, float *mean, float *variance, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        double sum = 0, square = 0;
        variance[i] = row[0];
        for (size_t j = 0; j < cols; j++)
            sum += row[j] - (double)variance[i];
        mean[i] = (float)(variance[i] + sum / (double)cols);
        double centre = variance[i] + sum / (double)cols;
        for (size_t j = 0; j < cols; j++)
            square += (row[j] - centre) * (row[j] - centre);
        variance[i] = (float)(square / (double)cols);
    }
}
