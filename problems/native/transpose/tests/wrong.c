// Wrong: does whole 8 x 8 tiles, then the rows and columns left over, but not their common corner.
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    size_t whole_rows = rows / 8 * 8, whole_cols = cols / 8 * 8;
    for (size_t i = 0; i < whole_rows; i++)
        for (size_t j = 0; j < whole_cols; j++)
            y[j * rows + i] = x[i * cols + j];
    for (size_t i = whole_rows; i < rows; i++)
        for (size_t j = 0; j < whole_cols; j++)
            y[j * rows + i] = x[i * cols + j];
    for (size_t i = 0; i < whole_rows; i++)
        for (size_t j = whole_cols; j < cols; j++)
            y[j * rows + i] = x[i * cols + j];
}
