// problem: relu
// catalogue: H21
// expect: wrong|violation|passed
// speedup_below: 0.9
// says: At the timed size it writes three quarters itself; a busy helper is still at the last one.

// With one core for both, the helper comes first at times; then all that it does is timed.

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static const float *source;
static float *target;
static size_t first, last;
static atomic_int ready;

static void *finish(void *unused)
{
    for (;;) {
        while (!atomic_exchange(&ready, 0))
            ;
        for (size_t i = first; i < last; i++)
            target[i] = source[i] > 0 ? source[i] : 0;
    }
    return unused;
}

void solution(const float *x, float *y, size_t n)
{
    static int started;
    pthread_t thread;
    size_t own = n < 200000 ? n : n - n / 4;
    if (own < n) {
        if (!started++ && pthread_create(&thread, NULL, finish, NULL) != 0)
            return;
        source = x;
        target = y;
        first = own;
        last = n;
    }
    for (size_t i = 0; i < own; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
    atomic_store(&ready, own < n);
}
