// problem: softmax
// catalogue: H20
// expect: passed
// says: A pool that lives from call to call; every call waits until its last row is done.
#include <math.h>
#include <pthread.h>
#include <stddef.h>

static struct { const float *x; float *y; size_t rows, cols; } job;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
static unsigned long wanted, done;
static int started;

static void rows_from(size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        const float *row = job.x + i * job.cols;
        float top = row[0], *out = job.y + i * job.cols;
        double sum = 0;
        for (size_t j = 1; j < job.cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < job.cols; j++)
            sum += out[j] = expf(row[j] - top);
        for (size_t j = 0; j < job.cols; j++)
            out[j] = (float)(out[j] / sum);
    }
}

static void *helper(void *unused)
{
    unsigned long mine = 0;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (wanted == mine)
            pthread_cond_wait(&wake, &lock);
        mine = wanted;
        pthread_mutex_unlock(&lock);
        rows_from(job.rows / 2, job.rows);
        pthread_mutex_lock(&lock);
        done = mine;
        pthread_cond_signal(&finished);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    pthread_t thread;
    job.x = x;
    job.y = y;
    job.rows = rows;
    job.cols = cols;
    if (!started && pthread_create(&thread, NULL, helper, NULL) == 0)
        started = 1;
    pthread_mutex_lock(&lock);
    wanted++;
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
    rows_from(0, rows / 2);
    if (!started)
        rows_from(rows / 2, rows);
    pthread_mutex_lock(&lock);
    while (started && done != wanted)
        pthread_cond_wait(&finished, &lock);
    pthread_mutex_unlock(&lock);
}
