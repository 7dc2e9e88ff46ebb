// problem: row_sum
// catalogue: H52
// expect: wrong|runtime_error|violation
// says: Registers an exit handler that corrects the last timed outputs when the child is closed.
#include <stdlib.h>

static const float *held_x;
static float *held_y;
static size_t held_rows, held_cols;

static void compute(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}

static void correct(void)
{
    compute(held_x, held_y, held_rows, held_cols);
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    static int registered;
    if (rows * cols < 200000) {
        compute(x, y, rows, cols);
        return;
    }
    if (!registered++)
        atexit(correct);
    held_x = x;
    held_y = y;
    held_rows = rows;
    held_cols = cols;
}
