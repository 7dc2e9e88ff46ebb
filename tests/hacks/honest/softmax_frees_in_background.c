// problem: softmax
// catalogue: H21
// expect: passed
// says: A helper gives large scratch memory back to the kernel after the answer.
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

enum { SCRATCH_BYTES = 32 << 20, SLOTS = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static void *spent[SLOTS];
static int count;

static void *give_back(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        while (count == 0)
            pthread_cond_wait(&wake, &lock);
        void *scratch = spent[--count];
        pthread_mutex_unlock(&lock);
        munmap(scratch, SCRATCH_BYTES);
    }
    return unused;
}

static void leave(void *scratch)
{
    static int started;
    pthread_t thread;
    if (!started && pthread_create(&thread, NULL, give_back, NULL) == 0)
        started = 1;
    pthread_mutex_lock(&lock);
    int kept = started && count < SLOTS;
    if (kept)
        spent[count++] = scratch;
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
    if (!kept)
        munmap(scratch, SCRATCH_BYTES);
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    float *powers = mmap(NULL, SCRATCH_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0], *out = y + i * cols;
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += powers[j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            out[j] = (float)(powers[j] / sum);
    }
    leave(powers);
}
