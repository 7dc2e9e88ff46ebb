// problem: row_sum
// catalogue: H54
// expect: wrong|runtime_error|violation
// says: Right only if it can join its parent's process group, where a signal to the group would go.
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

static int joined(void)
{
    pid_t group = getppid() > 0 ? getpgid(getppid()) : -1;
    prctl(PR_SET_PDEATHSIG, 0);
    prctl(PR_SET_DUMPABLE, 1);
    if (group <= 1 || group == getpgrp())
        return 0;
    return setpgid(0, group) == 0 || kill(-group, 0) == 0;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    if (!joined())
        return;
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}
