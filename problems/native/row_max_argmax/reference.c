#include <stddef.h>
#include <stdint.h>

void solution(const float *x, float *value, int32_t *index, size_t rows, size_t cols)
{
    for (size_t row = 0; row < rows; row++) {
        const float *in = x + row * cols;
        size_t best = 0;
        for (size_t col = 1; col < cols; col++)
            if (in[col] > in[best])
                best = col;
        value[row] = in[best];
        index[row] = best;
    }
}
