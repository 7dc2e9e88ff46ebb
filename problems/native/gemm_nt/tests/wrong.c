// Wrong: reads b as a depth x cols matrix, as if it were not stored transposed.
#include <stddef.h>

void solution(const float *a, const float *b, float *c, size_t rows, size_t cols, size_t depth)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++) {
            float sum = 0;
            for (size_t p = 0; p < depth; p++)
                sum += a[i * depth + p] * b[p * cols + j];
            c[i * cols + j] = sum;
        }
    }
}
