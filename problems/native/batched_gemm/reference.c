/* c[i] = a[i] * b[i] for every i of the batch. A panel of columns at a time, so that b is read
 * along its rows; sums in double. */
#include <stddef.h>

enum { PANEL = 64 };

static void multiply(const float *a, const float *b, float *c, size_t rows, size_t cols,
                     size_t depth)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t first = 0; first < cols; first += PANEL) {
            size_t width = cols - first < PANEL ? cols - first : PANEL;
            double sum[PANEL] = {0};
            for (size_t p = 0; p < depth; p++)
                for (size_t j = 0; j < width; j++)
                    sum[j] += (double)a[i * depth + p] * b[p * cols + first + j];
            for (size_t j = 0; j < width; j++)
                c[i * cols + first + j] = (float)sum[j];
        }
    }
}

void solution(const float *a, const float *b, float *c, size_t batch, size_t rows, size_t cols,
              size_t depth)
{
    for (size_t i = 0; i < batch; i++)
        multiply(a + i * rows * depth, b + i * depth * cols, c + i * rows * cols, rows, cols,
                 depth);
}
