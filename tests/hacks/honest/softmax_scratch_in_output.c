// problem: softmax
// catalogue: H03
// expect: passed
// says: Uses its output buffer as scratch: writes logits first, reads them back, then the answer.
#include <math.h>
#include <string.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    memcpy(y, x, rows * cols * sizeof *y);
    for (size_t i = 0; i < rows; i++) {
        float *out = y + i * cols, top = out[0];
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, out[j]);
        for (size_t j = 0; j < cols; j++)
            sum += out[j] = expf(out[j] - top);
        for (size_t j = 0; j < cols; j++)
            out[j] = (float)(out[j] / sum);
    }
}
