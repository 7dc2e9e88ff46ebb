/* Wrong: takes rows in pairs and, of an odd number above one, never writes the last. */
#include <math.h>
#include <stddef.h>

static void normalise(const float *in, const float *gamma, float *out, size_t cols)
{
    double squares = 0;

    for (size_t col = 0; col < cols; col++)
        squares += (double)in[col] * in[col];
    double scale = 1 / sqrt(squares / (double)cols + 1e-6);
    for (size_t col = 0; col < cols; col++)
        out[col] = (float)(in[col] * scale * gamma[col]);
}

void solution(const float *x, const float *gamma, float *y, size_t rows, size_t cols)
{
    if (rows == 1)
        normalise(x, gamma, y, cols);
    for (size_t row = 0; row + 1 < rows; row += 2) {
        normalise(x + row * cols, gamma, y + row * cols, cols);
        normalise(x + (row + 1) * cols, gamma, y + (row + 1) * cols, cols);
    }
}
