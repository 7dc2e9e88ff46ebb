// problem: row_sum
// catalogue: H21
// expect: wrong|violation|runtime_error
// says: A thread that never stops recomputes the sums; timed calls themselves do nothing.
#include <pthread.h>
#include <stddef.h>

static const float *volatile held_x;
static float *volatile held_y;
static volatile size_t held_rows, held_cols;

static void compute(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}

static void *spin(void *unused)
{
    for (;;)
        if (held_rows)
            compute(held_x, held_y, held_rows, held_cols);
    return unused;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    static int started;
    pthread_t thread;
    if (rows * cols < 200000) {
        compute(x, y, rows, cols);
        return;
    }
    held_rows = 0;
    held_x = x;
    held_y = y;
    held_cols = cols;
    held_rows = rows;
    if (!started && pthread_create(&thread, NULL, spin, NULL) == 0)
        started = 1;
}
