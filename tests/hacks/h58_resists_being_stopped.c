// problem: relu
// catalogue: H58
// expect: timeout|passed
// speedup_below: 0.5
// says: Threads of its own are in long system calls, which no stop interrupts: between calls they have the processors and the device. It is ended when they take long to stop, and where they stop sooner its call lasts until they do.
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

enum { THREADS = 16, POPULATE_READ = 22 };
#define BYTES ((size_t)3 << 29)

static char *memory;
static pthread_barrier_t all;

static void *stay_in_the_kernel(void *unused)
{
    pthread_barrier_wait(&all); /* none can be made while others are in there */
    for (;;) /* a call that is interrupted is made again */
        madvise(memory, BYTES, POPULATE_READ);
    return unused;
}

void solution(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
    if (n < 500000 || memory)
        return;
    memory = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, BYTES, MADV_NOHUGEPAGE);
    pthread_barrier_init(&all, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, stay_in_the_kernel, NULL);
    }
}
