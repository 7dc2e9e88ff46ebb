// problem: relu
// catalogue: H21
// expect: wrong|violation
// says: Writes the first half itself and lets a detached thread finish the rest behind its back.
#include <pthread.h>
#include <stddef.h>

static const float *source;
static float *target;
static size_t first, last;

static void *finish(void *unused)
{
    for (size_t i = first; i < last; i++)
        target[i] = source[i] > 0 ? source[i] : 0;
    return unused;
}

void solution(const float *x, float *y, size_t n)
{
    pthread_t thread;
    source = x;
    target = y;
    first = n / 2;
    last = n;
    if (pthread_create(&thread, NULL, finish, NULL) == 0)
        pthread_detach(thread);
    for (size_t i = 0; i < n / 2; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
