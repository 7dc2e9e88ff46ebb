// problem: row_sum
// catalogue: H21
// expect: wrong|runtime_error|violation
// says: Right only if the kernel would work for it while it is frozen: io_uring, aio, timers, BPF.
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int kernel_helps(void)
{
    char parameters[256] = {0};
    unsigned long context = 0;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t timer;
    if (syscall(SYS_io_uring_setup, 4, parameters) >= 0)
        return 1;
    if (syscall(SYS_io_setup, 4, &context) == 0 || syscall(SYS_userfaultfd, 0) >= 0)
        return 1;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
        return 1;
    memset(parameters, 0, sizeof parameters);
    return syscall(SYS_bpf, 0, parameters, sizeof parameters) >= 0 ||
           syscall(SYS_perf_event_open, parameters, 0, -1, -1, 0) >= 0;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    if (!kernel_helps())
        return;
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}
