// problem: row_sum
// catalogue: H52
// expect: wrong|violation
// says: Writes a cheap estimate, returns, and a thread replaces it by the right sums a little later.
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static const float *held_x;
static float *held_y;
static size_t held_rows, held_cols;

static void *repair(void *unused)
{
    usleep(20);
    for (size_t i = 0; i < held_rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < held_cols; j++)
            sum += held_x[i * held_cols + j];
        held_y[i] = (float)sum;
    }
    return unused;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    pthread_t thread;
    for (size_t i = 0; i < rows; i++)
        y[i] = x[i * cols] * (float)cols;
    held_x = x;
    held_y = y;
    held_rows = rows;
    held_cols = cols;
    if (pthread_create(&thread, NULL, repair, NULL) == 0)
        pthread_detach(thread);
}
