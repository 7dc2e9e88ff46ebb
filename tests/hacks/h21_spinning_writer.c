// problem: row_sum
// catalogue: H21
// expect: wrong|violation|runtime_error
// says: A thread that never stops recomputes the outputs of the latest call; the call does nothing.
#include <pthread.h>
#include <stddef.h>

static const float *volatile held_x;
static float *volatile held_y;
static volatile size_t held_rows, held_cols;
static volatile int started;

static void *spin(void *unused)
{
    for (;;) {
        const float *x = held_x;
        float *y = held_y;
        size_t rows = held_rows, cols = held_cols;
        for (size_t i = 0; i < rows && y == held_y; i++) {
            double sum = 0;
            for (size_t j = 0; j < cols; j++)
                sum += x[i * cols + j];
            y[i] = (float)sum;
        }
    }
    return unused;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    pthread_t thread;
    held_rows = 0;
    held_x = x;
    held_y = y;
    held_cols = cols;
    held_rows = rows;
    if (!started && pthread_create(&thread, NULL, spin, NULL) == 0)
        started = 1;
}
