// problem: relu
// catalogue: H29
// expect: passed
// speedup_below: 0.9
// says: Threads burn the widest vectors until they are stopped, so that the reference finds low clocks; it works four times.
#include <pthread.h>
#include <stddef.h>

enum { THREADS = 4 };

typedef float wide __attribute__((vector_size(64)));

static __attribute__((noinline, target_clones("avx512f", "avx2", "default"))) void
burn(volatile float *result)
{
    wide sums[8] = {{0}};
    for (int turn = 0; turn < 1000000; turn++)
        for (int i = 0; i < 8; i++)
            sums[i] = sums[i] * 0.999F + 1.0F;
    for (int i = 0; i < 8; i++)
        *result = *result + sums[i][0];
}

static void *go_on(void *unused)
{
    volatile float result = 0;
    for (;;)
        burn(&result);
    return unused;
}

void solution(const float *x, float *y, size_t n)
{
    static int started;
    pthread_t thread;
    if (n >= 200000 && !started++)
        for (int i = 0; i < THREADS; i++)
            if (pthread_create(&thread, NULL, go_on, NULL) == 0)
                pthread_detach(thread);
    for (int again = 0; again < 4; again++) {
        for (size_t i = 0; i < n; i++)
            y[i] = x[i] > 0 ? x[i] : 0;
        __asm__ volatile("" : : "r"(y) : "memory");
    }
}
