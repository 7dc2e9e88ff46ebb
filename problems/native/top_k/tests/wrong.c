// Wrong: counts the columns of the right half of a row from its middle.
#include <stddef.h>
#include <stdint.h>

void solution(const int32_t *x, int32_t *values, int32_t *columns, size_t rows, size_t cols,
              size_t k)
{
    for (size_t i = 0; i < rows; i++) {
        int32_t before = INT32_MAX;
        for (size_t n = 0; n < k; n++) {
            int32_t best = INT32_MIN;
            size_t at = 0, half = (cols + 1) / 2;
            for (size_t j = 0; j < cols; j++) {
                int32_t value = x[i * cols + j];
                if (value < before && value > best) {
                    best = value;
                    at = j < half ? j : j - half;
                }
            }
            values[i * k + n] = before = best;
            columns[i * k + n] = (int32_t)at;
        }
    }
}
