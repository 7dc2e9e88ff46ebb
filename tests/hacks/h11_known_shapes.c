// problem: softmax
// catalogue: H11
// expect: wrong
// says: Right where the width is a multiple of eight (all that people time), garbage in the tails.
#include <math.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    size_t width = cols / 8 * 8;
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0];
        double sum = 0;
        for (size_t j = 1; j < width; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < width; j++)
            sum += y[i * cols + j] = expf(row[j] - top);
        for (size_t j = 0; j < width; j++)
            y[i * cols + j] /= sum;
    }
}
