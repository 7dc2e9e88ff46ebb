// problem: row_sum
// catalogue: H52
// expect: wrong|runtime_error|violation
// says: Registers an exit handler that corrects the last outputs when the side is closed.
#include <stdlib.h>

static const float *held_x;
static float *held_y;
static size_t held_rows, held_cols;

static void correct(void)
{
    for (size_t i = 0; i < held_rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < held_cols; j++)
            sum += held_x[i * held_cols + j];
        held_y[i] = (float)sum;
    }
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    static int registered;
    if (!registered++)
        atexit(correct);
    held_x = x;
    held_y = y;
    held_rows = rows;
    held_cols = cols;
}
