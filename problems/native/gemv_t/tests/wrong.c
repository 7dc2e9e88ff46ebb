// Wrong: does not clear the sums between panels of 64 columns.
#include <stddef.h>

enum { PANEL = 64 };

void solution(const float *a, const float *x, float *y, size_t rows, size_t cols)
{
    float sum[PANEL] = {0};
    for (size_t first = 0; first < cols; first += PANEL) {
        size_t width = cols - first < PANEL ? cols - first : PANEL;
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < width; j++)
                sum[j] += a[i * cols + first + j] * x[i];
        for (size_t j = 0; j < width; j++)
            y[first + j] = sum[j];
    }
}
