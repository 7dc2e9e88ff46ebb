/* The maximum of a row first, which vectorises, then the first column that equals it. */
#include <stddef.h>
#include <stdint.h>

void solution(const float *restrict x, float *restrict value, int32_t *restrict index, size_t rows,
              size_t cols)
{
#pragma omp parallel for schedule(static) if (rows * cols > 65536)
    for (size_t row = 0; row < rows; row++) {
        const float *in = x + row * cols;
        float most = in[0];
#pragma omp simd reduction(max : most)
        for (size_t col = 0; col < cols; col++)
            most = in[col] > most ? in[col] : most;
        size_t col = 0;
        while (in[col] != most)
            col++;
        value[row] = most;
        index[row] = (int32_t)col;
    }
}
