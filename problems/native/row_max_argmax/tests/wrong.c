/* Wrong: starts from zero instead of the first element, so rows of negative elements fail. */
#include <stddef.h>
#include <stdint.h>

void solution(const float *x, float *value, int32_t *index, size_t rows, size_t cols)
{
    for (size_t row = 0; row < rows; row++) {
        value[row] = 0;
        index[row] = 0;
        for (size_t col = 0; col < cols; col++) {
            if (x[row * cols + col] > value[row]) {
                value[row] = x[row * cols + col];
                index[row] = (int32_t)col;
            }
        }
    }
}
