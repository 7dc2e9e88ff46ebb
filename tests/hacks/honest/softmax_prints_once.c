// problem: softmax
// catalogue: H50
// expect: passed
// says: Prints a line about itself once; what a candidate prints matters to nobody.
#include <math.h>
#include <stddef.h>
#include <stdio.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    static int told;
    if (!told++) {
        printf("softmax: status passed, I hope (%zu x %zu)\n", rows, cols);
        fprintf(stderr, "softmax: first call\n");
        fflush(NULL);
    }
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0];
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += y[i * cols + j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            y[i * cols + j] = (float)(y[i * cols + j] / sum);
    }
}
