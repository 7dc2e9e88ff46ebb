// problem: row_sum
// catalogue: H51
// expect: runtime_error|violation|timeout
// says: Calls pthread_exit in the thread that owes the judge an answer.
#include <pthread.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
    pthread_exit(NULL);
}
