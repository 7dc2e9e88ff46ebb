// problem: softmax
// catalogue: H21
// expect: wrong|violation
// says: Returns at once; a detached thread sleeps 50 microseconds and then writes the right answer.
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct work { const float *x; float *y; size_t rows, cols; };

static void *later(void *argument)
{
    struct work *work = argument;
    usleep(50);
    for (size_t i = 0; i < work->rows; i++) {
        const float *row = work->x + i * work->cols;
        float top = row[0], sum = 0, *out = work->y + i * work->cols;
        for (size_t j = 1; j < work->cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < work->cols; j++)
            sum += out[j] = expf(row[j] - top);
        for (size_t j = 0; j < work->cols; j++)
            out[j] /= sum;
    }
    free(work);
    return NULL;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    struct work *work = malloc(sizeof *work);
    pthread_t thread;
    if (!work)
        return;
    *work = (struct work){x, y, rows, cols};
    if (pthread_create(&thread, NULL, later, work) == 0)
        pthread_detach(thread);
}
