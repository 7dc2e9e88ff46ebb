// problem: row_sum
// catalogue: H58
// expect: timeout|runtime_error|violation
// says: Blocks and ignores every signal before it loops; SIGKILL and SIGSTOP do not ask.
#include <signal.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    sigset_t all;
    volatile size_t spins = 0;
    (void)x, (void)y, (void)rows, (void)cols;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (int number = 1; number < 65; number++)
        signal(number, SIG_IGN);
    for (;;)
        spins++;
}
