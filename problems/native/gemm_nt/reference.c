/* c = a * transpose(b): every element is the dot product of a row of a and a row of b. */
#include <stddef.h>

void solution(const float *a, const float *b, float *c, size_t rows, size_t cols, size_t depth)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++) {
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (size_t p = 0; p < depth; p++)
                sum += (double)a[i * depth + p] * b[j * depth + p];
            c[i * cols + j] = (float)sum;
        }
    }
}
