// problem: softmax
// catalogue: H14
// expect: wrong
// says: Computes the first sixteen rows and repeats that tile down the output.
#include <math.h>
#include <string.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    size_t tile = rows < 16 ? rows : 16;
    for (size_t i = 0; i < tile; i++) {
        const float *row = x + i * cols;
        float top = row[0], *out = y + i * cols;
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += out[j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            out[j] /= sum;
    }
    for (size_t i = tile; i < rows; i++)
        memcpy(y + i * cols, y + (i - tile) * cols, cols * sizeof *y);
}
