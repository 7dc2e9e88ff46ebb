// problem: relu
// catalogue: H21
// expect: wrong|violation|passed
// speedup_below: 0.9
// says: A thread is in one long system call that copies the answer when the others are stopped; it works four times.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

static float *out;
static size_t bytes;
static atomic_int wanted, begun, file;

static void *copy_late(void *unused)
{
    for (int seen = 0;;) {
        while (atomic_load(&wanted) == seen)
            ;
        seen = atomic_load(&wanted);
        atomic_store(&begun, seen);
        (void)!pread(file, out, bytes, 0); /* the kernel finishes what it has begun */
    }
    return unused;
}

static void compute(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
    __asm__ volatile("" : : "r"(y) : "memory");
}

void solution(const float *x, float *y, size_t n)
{
    static float *mine;
    pthread_t thread;
    if (n < 200000) {
        compute(x, y, n);
        return;
    }
    if (!mine) {
        file = open("answer", O_CREAT | O_RDWR, 0600);
        mine = malloc(n * sizeof *mine);
        pthread_create(&thread, NULL, copy_late, NULL);
    }
    for (int again = 0; again < 4; again++)
        compute(x, mine, n);
    bytes = n * sizeof *mine;
    (void)!pwrite(file, mine, bytes, 0);
    out = y;
    atomic_fetch_add(&wanted, 1);
    while (atomic_load(&begun) != atomic_load(&wanted))
        ;
}
