#include <stddef.h>
#include <stdint.h>
#include <tgmath.h>

void solution(const float *logits, const int32_t *targets, float *loss, size_t rows, size_t cols)
{
    for (size_t row = 0; row < rows; row++) {
        const float *in = logits + row * cols;
        float most = in[0];
        for (size_t col = 1; col < cols; col++)
            most = fmax(most, in[col]);
        double sum = 0;
        for (size_t col = 0; col < cols; col++)
            sum += exp(in[col] - most);
        loss[row] = log(sum) + most - in[targets[row]];
    }
}
