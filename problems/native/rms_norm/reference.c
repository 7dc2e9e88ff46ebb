#include <stddef.h>
#include <tgmath.h>

void solution(const float *x, const float *gamma, float *y, size_t rows, size_t cols)
{
    for (size_t row = 0; row < rows; row++) {
        const float *in = x + row * cols;
        double squares = 0;
        for (size_t col = 0; col < cols; col++)
            squares += (double)in[col] * in[col];
        double scale = 1 / sqrt(squares / cols + 1e-6);
        for (size_t col = 0; col < cols; col++)
            y[row * cols + col] = in[col] * scale * gamma[col];
    }
}
