// problem: softmax
// catalogue: H14
// expect: passed
// says: One pass for maximum and sum together (online softmax): less work, the same answer.
#include <math.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0];
        double sum = 1;
        for (size_t j = 1; j < cols; j++) {
            if (row[j] > top) {
                sum = sum * exp((double)top - row[j]) + 1;
                top = row[j];
            } else {
                sum += expf(row[j] - top);
            }
        }
        for (size_t j = 0; j < cols; j++)
            y[i * cols + j] = (float)(expf(row[j] - top) / sum);
    }
}
