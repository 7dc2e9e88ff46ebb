/* y[j][i] = x[i][j]. */
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            y[j * rows + i] = x[i * cols + j];
}
