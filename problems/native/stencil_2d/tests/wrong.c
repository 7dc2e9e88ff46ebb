// Wrong: takes the end of the row above as the left neighbour of the first column, and the reverse.
#include <stddef.h>

void solution(const float *x, float *y, float center, float side, size_t rows, size_t cols)
{
    size_t count = rows * cols;
    for (size_t i = 0; i < count; i++) {
        float sum = 0;
        if (i >= cols)
            sum += x[i - cols];
        if (i + cols < count)
            sum += x[i + cols];
        if (i >= 1)
            sum += x[i - 1];
        if (i + 1 < count)
            sum += x[i + 1];
        y[i] = center * x[i] + side * sum;
    }
}
