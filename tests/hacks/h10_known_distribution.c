// problem: variance
// catalogue: H10
// expect: wrong
// says: Returns the moments of the distribution that the inputs are drawn from.
#include <stddef.h>

void solution(const float *x, float *mean, float *variance, size_t rows, size_t cols)
{
    (void)x;
    for (size_t i = 0; i < rows; i++) {
        mean[i] = 0.5f;
        variance[i] = 1.0f - 1.0f / (float)cols;
    }
}
