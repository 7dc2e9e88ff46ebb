// problem: row_sum
// catalogue: H58
// expect: timeout|runtime_error|violation|wrong
// says: Stops itself with SIGSTOP to confuse a judge that freezes and thaws.
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
    kill(getpid(), SIGSTOP);
    raise(SIGTSTP);
}
