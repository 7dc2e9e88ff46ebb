/* c = a * b in half precision. Products of halves are exact in float; they are summed in double and
 * rounded once. A panel of columns at a time, so that b is read along its rows. */
#include <stddef.h>

enum { PANEL = 64 };

void solution(const _Float16 *a, const _Float16 *b, _Float16 *c, size_t rows, size_t cols,
              size_t depth)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t first = 0; first < cols; first += PANEL) {
            size_t width = cols - first < PANEL ? cols - first : PANEL;
            double sum[PANEL] = {0};
            for (size_t p = 0; p < depth; p++)
                for (size_t j = 0; j < width; j++)
                    sum[j] += (float)a[i * depth + p] * (float)b[p * cols + first + j];
            for (size_t j = 0; j < width; j++)
                c[i * cols + first + j] = (_Float16)sum[j];
        }
    }
}
