// Adds four rows of a panel of columns at once in float; panels over threads.
#include <stddef.h>
#include <string.h>

enum { PANEL = 512 };

/* Four rows are summed before they join the total: a quarter of the loads and stores, and a
 * rounding error that grows with the root of a quarter of the rows. */
static void add_rows(const float *a, const float *x, size_t rows, size_t cols, size_t width,
                     float *restrict sum)
{
    size_t i = 0;
    for (; i + 4 <= rows; i += 4) {
        const float *a0 = a + i * cols, *a1 = a0 + cols, *a2 = a1 + cols, *a3 = a2 + cols;
        float x0 = x[i], x1 = x[i + 1], x2 = x[i + 2], x3 = x[i + 3];
        for (size_t j = 0; j < width; j++)
            sum[j] += (a0[j] * x0 + a1[j] * x1) + (a2[j] * x2 + a3[j] * x3);
    }
    for (; i < rows; i++)
        for (size_t j = 0; j < width; j++)
            sum[j] += a[i * cols + j] * x[i];
}

void solution(const float *a, const float *x, float *y, size_t rows, size_t cols)
{
#pragma omp parallel for if (rows * cols > 100000)
    for (size_t first = 0; first < cols; first += PANEL) {
        size_t width = cols - first < PANEL ? cols - first : PANEL;
        float sum[PANEL] = {0};
        add_rows(a + first, x, rows, cols, width, sum);
        memcpy(y + first, sum, width * sizeof(float));
    }
}
