/* c = a * b. Products of bytes are at most 2^14, so 32-bit sums are exact up to a depth of
 * 131071. Row by row, so that b is read along its rows. */
#include <stddef.h>
#include <stdint.h>

void solution(const int8_t *a, const int8_t *b, int32_t *c, size_t rows, size_t cols, size_t depth)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++)
            c[i * cols + j] = 0;
        for (size_t p = 0; p < depth; p++)
            for (size_t j = 0; j < cols; j++)
                c[i * cols + j] += (int32_t)a[i * depth + p] * b[p * cols + j];
    }
}
