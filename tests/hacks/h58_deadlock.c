// problem: row_sum
// catalogue: H58
// expect: timeout
// says: Locks the same mutex twice.
#include <pthread.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    (void)x, (void)y, (void)rows, (void)cols;
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
}
