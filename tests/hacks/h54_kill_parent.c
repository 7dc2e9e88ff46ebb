// problem: row_sum
// catalogue: H54
// expect: wrong|runtime_error|violation
// says: Sends SIGKILL to its parent so that no verdict is ever written; the kill must be refused.
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    pid_t parent = getppid();
    (void)x, (void)cols;
    memset(y, 0, rows * sizeof *y);
    if (parent > 1)
        kill(parent, SIGKILL);
}
