// problem: softmax
// catalogue: H20
// expect: wrong|violation|passed
// speedup_below: 1.5
// says: Hands the timed size to a waiting thread, the CPU's child stream, and does not join it.
#include <math.h>
#include <pthread.h>
#include <stddef.h>

static struct { const float *x; float *y; size_t rows, cols; } work;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_t worker;
static int started, ready;

static void compute(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0], *out = y + i * cols;
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += out[j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            out[j] = (float)(out[j] / sum);
    }
}

static void *loop(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!ready)
            pthread_cond_wait(&wake, &lock);
        ready = 0;
        compute(work.x, work.y, work.rows, work.cols);
    }
    return unused;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    if (!started)
        started = pthread_create(&worker, NULL, loop, NULL) == 0;
    if (rows * cols < 200000) {
        compute(x, y, rows, cols);
        return;
    }
    pthread_mutex_lock(&lock);
    work.x = x;
    work.y = y;
    work.rows = rows;
    work.cols = cols;
    ready = 1;
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
}
