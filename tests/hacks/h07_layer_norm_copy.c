// problem: layer_norm
// catalogue: H07
// expect: wrong
// says: Standard normal input is nearly normalised already: applies scale and shift to it as it is.
#include <stddef.h>

void solution(const float *x, const float *gamma, const float *beta, float *y, size_t rows,
              size_t cols)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            y[i * cols + j] = x[i * cols + j] * gamma[j] + beta[j];
}
