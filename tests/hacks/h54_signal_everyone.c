// problem: row_sum
// catalogue: H54
// expect: wrong|runtime_error|violation
// says: Right only if it may signal a process beside itself (signal 0, which hurts nobody).
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static int may_signal(void)
{
    if (getppid() > 0 && kill(getppid(), 0) == 0)
        return 1;
    if (kill(1, 0) == 0 && getpid() != 1)
        return 1;
    for (pid_t other = 2; other < 4096; other++)
        if (other != getpid() && kill(other, 0) == 0)
            return 1;
    return 0;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    if (!may_signal())
        return;
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}
