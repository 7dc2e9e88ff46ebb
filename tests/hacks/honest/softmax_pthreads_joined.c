// problem: softmax
// catalogue: H21
// expect: passed
// says: Starts threads for each call and joins them all before it returns.
#include <math.h>
#include <pthread.h>
#include <stddef.h>

struct part { const float *x; float *y; size_t rows, cols; };

static void *work(void *argument)
{
    struct part *part = argument;
    for (size_t i = 0; i < part->rows; i++) {
        const float *row = part->x + i * part->cols;
        float top = row[0], *out = part->y + i * part->cols;
        double sum = 0;
        for (size_t j = 1; j < part->cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < part->cols; j++)
            sum += out[j] = expf(row[j] - top);
        for (size_t j = 0; j < part->cols; j++)
            out[j] = (float)(out[j] / sum);
    }
    return NULL;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    size_t half = rows / 2;
    struct part first = {x, y, half, cols};
    struct part second = {x + half * cols, y + half * cols, rows - half, cols};
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, &first) == 0) {
        work(&second);
        pthread_join(thread, NULL);
    } else {
        work(&first);
        work(&second);
    }
}
