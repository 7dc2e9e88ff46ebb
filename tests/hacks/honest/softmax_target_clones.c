// problem: softmax
// catalogue: H51
// expect: passed
// says: Compiled for several processors, picked by an indirect-function resolver while it loads.
#include <math.h>
#include <stddef.h>

__attribute__((target_clones("avx2", "default"))) static float largest(const float *row,
                                                                       size_t cols)
{
    float top = row[0];
    for (size_t j = 1; j < cols; j++)
        top = row[j] > top ? row[j] : top;
    return top;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = largest(row, cols);
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += y[i * cols + j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            y[i * cols + j] = (float)(y[i * cols + j] / sum);
    }
}
