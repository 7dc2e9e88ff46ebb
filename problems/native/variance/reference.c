#include <stddef.h>

void solution(const float *x, float *mean, float *variance, size_t rows, size_t cols)
{
    for (size_t row = 0; row < rows; row++) {
        const float *in = x + row * cols;
        double sum = 0, squares = 0;
        for (size_t col = 0; col < cols; col++)
            sum += in[col];
        double middle = sum / cols;
        for (size_t col = 0; col < cols; col++)
            squares += (in[col] - middle) * (in[col] - middle);
        mean[row] = middle;
        variance[row] = squares / cols;
    }
}
