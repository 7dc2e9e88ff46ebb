// Wrong: adds four products in 16 bits before they join the 32-bit sum.
#include <stddef.h>
#include <stdint.h>

void solution(const int8_t *a, const int8_t *b, int32_t *c, size_t rows, size_t cols, size_t depth)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++) {
            int32_t sum = 0;
            for (size_t p = 0; p < depth; p += 4) {
                int16_t part = 0;
                for (size_t q = p; q < p + 4 && q < depth; q++)
                    part = (int16_t)(part + a[i * depth + q] * b[q * cols + j]);
                sum += part;
            }
            c[i * cols + j] = sum;
        }
    }
}
