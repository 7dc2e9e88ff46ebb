/* y = transpose(a) * x. A panel of columns at a time, so that a is read along its rows; sums in
 * double. */
#include <stddef.h>

enum { PANEL = 64 };

void solution(const float *a, const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t first = 0; first < cols; first += PANEL) {
        size_t width = cols - first < PANEL ? cols - first : PANEL;
        double sum[PANEL] = {0};
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < width; j++)
                sum[j] += (double)a[i * cols + first + j] * x[i];
        for (size_t j = 0; j < width; j++)
            y[first + j] = (float)sum[j];
    }
}
