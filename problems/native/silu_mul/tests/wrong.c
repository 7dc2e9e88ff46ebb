/* Wrong: columns behind the last full block of eight get the gate's sigmoid, not its SiLU. */
#include <math.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    size_t full = cols / 8 * 8;

    for (size_t row = 0; row < rows; row++) {
        const float *gate = x + row * 2 * cols;
        const float *value = gate + cols;
        for (size_t col = 0; col < cols; col++) {
            float sigmoid = 1.0f / (1.0f + expf(-gate[col]));
            y[row * cols + col] = (col < full ? gate[col] : 1.0f) * sigmoid * value[col];
        }
    }
}
