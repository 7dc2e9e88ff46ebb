// Wrong: parks the running sum in half precision after every 4 steps of the depth.
#include <stddef.h>

void solution(const _Float16 *a, const _Float16 *b, _Float16 *c, size_t rows, size_t cols,
              size_t depth)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++)
            c[i * cols + j] = 0;
        for (size_t first = 0; first < depth; first += 4) {
            size_t end = first + 4 < depth ? first + 4 : depth;
            for (size_t j = 0; j < cols; j++) {
                float sum = (float)c[i * cols + j];
                for (size_t p = first; p < end; p++)
                    sum += (float)a[i * depth + p] * (float)b[p * cols + j];
                c[i * cols + j] = (_Float16)sum;
            }
        }
    }
}
