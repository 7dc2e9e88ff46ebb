// problem: row_sum
// catalogue: H58
// expect: runtime_error
// says: Right in every check, crashes in the third call at the timed size.
#include <stddef.h>

static void compute(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    static int timed;
    volatile int *volatile nowhere = NULL;
    compute(x, y, rows, cols);
    if (rows * cols > 200000 && ++timed == 3)
        *nowhere = 1;
}
