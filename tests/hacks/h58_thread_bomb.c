// problem: row_sum
// catalogue: H58
// expect: wrong|runtime_error|violation|timeout|out_of_memory
// says: Starts threads until it is stopped by the limit on tasks (or by its own bound).
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static void *rest(void *unused)
{
    sleep(5);
    return unused;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    pthread_attr_t small;
    pthread_t thread;
    (void)x, (void)y, (void)rows, (void)cols;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (int i = 0; i < 10000; i++)
        if (pthread_create(&thread, &small, rest, NULL) != 0)
            return;
}
