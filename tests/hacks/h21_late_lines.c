// problem: relu
// catalogue: H21
// expect: wrong|violation
// says: At the timed size a helper races the freeze with every other cache line of the output.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static const float *source;
static float *target;
static size_t count;
static atomic_int ready;

static void lines(const float *x, float *y, size_t n, size_t start)
{
    for (size_t line = start; line * 16 < n; line += 2)
        for (size_t i = line * 16; i < n && i < line * 16 + 16; i++)
            y[i] = x[i] > 0 ? x[i] : 0;
}

static void *odd_lines(void *unused)
{
    for (;;) {
        while (!atomic_load(&ready))
            ;
        atomic_store(&ready, 0);
        lines(source, target, count, 1);
    }
    return unused;
}

void solution(const float *x, float *y, size_t n)
{
    static int started;
    pthread_t thread;
    if (n < 200000) {
        lines(x, y, n, 0);
        lines(x, y, n, 1);
        return;
    }
    if (!started++ && pthread_create(&thread, NULL, odd_lines, NULL) != 0)
        return;
    source = x;
    target = y;
    count = n;
    lines(x, y, n, 0);
    atomic_store(&ready, 1);
}
