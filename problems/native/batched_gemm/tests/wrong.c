// Wrong: multiplies every matrix of the batch with the first b.
#include <stddef.h>

void solution(const float *a, const float *b, float *c, size_t batch, size_t rows, size_t cols,
              size_t depth)
{
    for (size_t i = 0; i < batch * rows; i++) {
        for (size_t j = 0; j < cols; j++) {
            float sum = 0;
            for (size_t p = 0; p < depth; p++)
                sum += a[i * depth + p] * b[p * cols + j];
            c[i * cols + j] = sum;
        }
    }
}
