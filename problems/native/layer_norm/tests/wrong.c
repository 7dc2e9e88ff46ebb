/* Wrong: divides by the number of columns rounded up to a multiple of sixteen. */
#include <math.h>
#include <stddef.h>

void solution(const float *x, const float *gamma, const float *beta, float *y, size_t rows,
              size_t cols)
{
    double padded = (double)((cols + 15) / 16 * 16);

    for (size_t row = 0; row < rows; row++) {
        const float *in = x + row * cols;
        double sum = 0, squares = 0;
        for (size_t col = 0; col < cols; col++)
            sum += in[col];
        double mean = sum / padded;
        for (size_t col = 0; col < cols; col++)
            squares += (in[col] - mean) * (in[col] - mean);
        double scale = 1 / sqrt(squares / padded + 1e-5);
        for (size_t col = 0; col < cols; col++)
            y[row * cols + col] = (float)((in[col] - mean) * scale * gamma[col] + beta[col]);
    }
}
