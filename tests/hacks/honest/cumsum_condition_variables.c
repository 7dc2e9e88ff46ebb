// problem: cumsum
// catalogue: H21
// expect: passed
// says: A pool that sleeps on condition variables and hands sums on; it reads /proc/cpuinfo once.
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static const float *in;
static float *out;
static size_t width, next_row, end_row, done_rows;

static void add_up(size_t row)
{
    double sum = 0;
    for (size_t j = 0; j < width; j++)
        out[row * width + j] = (float)(sum += in[row * width + j]);
}

static void take_rows(void)
{
    while (next_row < end_row) {
        size_t row = next_row++;
        pthread_mutex_unlock(&lock);
        add_up(row);
        pthread_mutex_lock(&lock);
        if (++done_rows == end_row)
            pthread_cond_broadcast(&changed);
    }
}

static void *serve(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        take_rows();
        pthread_cond_wait(&changed, &lock);
    }
    return unused;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    static int started;
    char line[128];
    if (!started++) {
        pthread_t thread;
        FILE *facts = fopen("/proc/cpuinfo", "r");
        while (facts && fgets(line, sizeof line, facts))
            ;
        if (facts)
            fclose(facts);
        if (pthread_create(&thread, NULL, serve, NULL) == 0)
            pthread_detach(thread);
    }
    pthread_mutex_lock(&lock);
    in = x, out = y, width = cols;
    next_row = done_rows = 0, end_row = rows;
    pthread_cond_broadcast(&changed);
    take_rows();
    while (done_rows < rows)
        pthread_cond_wait(&changed, &lock);
    end_row = 0;
    pthread_mutex_unlock(&lock);
}
