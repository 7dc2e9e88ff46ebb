// problem: softmax
// catalogue: H13
// expect: wrong
// says: Replaces exp by a bit trick that is good to three per cent.
#include <math.h>
#include <stdint.h>
#include <string.h>

static float cheap_exp(float value)
{
    float scaled = fmaxf(value * 12102203.0f + 1064866805.0f, 0.0f);
    int32_t bits = (int32_t)scaled;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0], *out = y + i * cols;
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += out[j] = cheap_exp(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            out[j] /= sum;
    }
}
