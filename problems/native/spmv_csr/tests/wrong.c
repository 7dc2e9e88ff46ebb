// Wrong: writes a row when its last element has been added, so that empty rows stay unwritten.
#include <stddef.h>
#include <stdint.h>

void solution(const int32_t *start, const int32_t *column, const float *value, const float *x,
              float *y, size_t rows, size_t cols, size_t nonzeros)
{
    (void)cols;
    (void)nonzeros;
    for (size_t i = 0; i < rows; i++) {
        float sum = 0;
        for (int32_t p = start[i]; p < start[i + 1]; p++) {
            sum += value[p] * x[column[p]];
            if (p + 1 == start[i + 1])
                y[i] = sum;
        }
    }
}
