// problem: row_sum
// catalogue: H54
// expect: wrong|runtime_error|violation
// says: Right only if it may trace, read or write the memory of the process that started it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

static int reaches_parent(void)
{
    pid_t parent = getppid();
    char byte, path[64];
    struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
    if (parent <= 1)
        return 0;
    if (ptrace(PTRACE_SEIZE, parent, 0, 0) == 0) {
        ptrace(PTRACE_DETACH, parent, 0, 0);
        return 1;
    }
    if (process_vm_readv(parent, &here, 1, &there, 1, 0) == 1)
        return 1;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)parent);
    return open(path, O_RDWR) >= 0;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    if (!reaches_parent())
        return;
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}
