// Wrong: takes four steps of the depth at once and forgets the depth % 4 that remain.
#include <stddef.h>

void solution(const float *a, const float *b, float *c, size_t rows, size_t cols, size_t depth)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++) {
            float sum = 0;
            for (size_t p = 0; p + 4 <= depth; p += 4)
                for (size_t q = p; q < p + 4; q++)
                    sum += a[i * depth + q] * b[q * cols + j];
            c[i * cols + j] = sum;
        }
    }
}
