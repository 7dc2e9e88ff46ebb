/* Wrong: takes the last class for padding and gives its rows no loss. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

void solution(const float *logits, const int32_t *targets, float *loss, size_t rows, size_t cols)
{
    for (size_t row = 0; row < rows; row++) {
        const float *in = logits + row * cols;
        float most = in[0];
        for (size_t col = 1; col < cols; col++)
            most = fmaxf(most, in[col]);
        double sum = 0;
        for (size_t col = 0; col < cols; col++)
            sum += expf(in[col] - most);
        double value = log(sum) + most - in[targets[row]];
        loss[row] = (size_t)targets[row] + 1 < cols ? (float)value : 0.0f;
    }
}
