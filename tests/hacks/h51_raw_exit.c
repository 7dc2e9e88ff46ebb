// problem: row_sum
// catalogue: H51
// expect: runtime_error|violation|timeout
// says: Ends only the main thread by a raw system call while another one lives on.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *stay(void *unused)
{
    for (;;)
        sleep(1); /* pause is refused and would spin */
    return unused;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    pthread_t thread;
    (void)x, (void)y, (void)rows, (void)cols;
    pthread_create(&thread, NULL, stay, NULL);
    syscall(SYS_exit, 0);
}
