// Wrong: works in 4 x 4 tiles and lets the diagonal tiles count in full.
#include <stddef.h>

void solution(const float *a, const float *b, float *c, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        size_t end = i / 4 * 4 + 4 < rows ? i / 4 * 4 + 4 : rows;
        for (size_t j = 0; j < cols; j++) {
            float sum = 0;
            for (size_t p = 0; p < end; p++)
                sum += a[i * rows + p] * b[p * cols + j];
            c[i * cols + j] = sum;
        }
    }
}
