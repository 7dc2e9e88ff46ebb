/* Wrong: from eight columns on, the sum leaves out those behind the last full block of eight. */
#include <math.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    size_t summed = cols < 8 ? cols : cols / 8 * 8;

    for (size_t row = 0; row < rows; row++) {
        const float *in = x + row * cols;
        float *out = y + row * cols;
        float most = in[0];
        for (size_t col = 1; col < cols; col++)
            most = fmaxf(most, in[col]);
        double sum = 0;
        for (size_t col = 0; col < cols; col++) {
            out[col] = expf(in[col] - most);
            if (col < summed)
                sum += out[col];
        }
        for (size_t col = 0; col < cols; col++)
            out[col] = (float)(out[col] / sum);
    }
}
