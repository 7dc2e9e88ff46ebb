// problem: softmax
// catalogue: H20
// expect: wrong|violation
// says: Hands the rows to a second thread, the CPU's side stream, and returns without joining it.
#include <math.h>
#include <pthread.h>

static struct { const float *x; float *y; size_t rows, cols; } work;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_t worker;
static int started, ready;

static void *loop(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!ready)
            pthread_cond_wait(&wake, &lock);
        ready = 0;
        for (size_t i = 0; i < work.rows; i++) {
            const float *row = work.x + i * work.cols;
            float top = row[0], sum = 0, *out = work.y + i * work.cols;
            for (size_t j = 1; j < work.cols; j++)
                top = fmaxf(top, row[j]);
            for (size_t j = 0; j < work.cols; j++)
                sum += out[j] = expf(row[j] - top);
            for (size_t j = 0; j < work.cols; j++)
                out[j] /= sum;
        }
    }
    return unused;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    pthread_mutex_lock(&lock);
    if (!started)
        started = pthread_create(&worker, NULL, loop, NULL) == 0;
    work.x = x;
    work.y = y;
    work.rows = rows;
    work.cols = cols;
    ready = 1;
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
}
