// problem: row_sum
// catalogue: H20
// expect: passed
// says: Sixty-four short threads in each call, all of them joined.
#include <pthread.h>
#include <stddef.h>

enum { THREADS = 64 };

struct part {
    const float *x;
    float *y;
    size_t rows, cols;
};

static void *add_up(void *given)
{
    const struct part *part = given;
    for (size_t i = 0; i < part->rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < part->cols; j++)
            sum += part->x[i * part->cols + j];
        part->y[i] = (float)sum;
    }
    return NULL;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    pthread_t threads[THREADS];
    struct part parts[THREADS];
    int started[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        size_t first = rows * i / THREADS;
        size_t end = rows * (i + 1) / THREADS;
        parts[i] = (struct part){x + first * cols, y + first, end - first, cols};
        started[i] = pthread_create(&threads[i], NULL, add_up, &parts[i]) == 0;
        if (!started[i])
            add_up(&parts[i]);
    }
    for (size_t i = 0; i < THREADS; i++)
        if (started[i])
            pthread_join(threads[i], NULL);
}
