#include <stddef.h>
#include <tgmath.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t row = 0; row < rows; row++) {
        const float *in = x + row * cols;
        float *out = y + row * cols;
        float most = in[0];
        for (size_t col = 1; col < cols; col++)
            most = fmax(most, in[col]);
        double sum = 0;
        for (size_t col = 0; col < cols; col++) {
            out[col] = exp(in[col] - most);
            sum += out[col];
        }
        for (size_t col = 0; col < cols; col++)
            out[col] /= sum;
    }
}
