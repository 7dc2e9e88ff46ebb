// problem: softmax
// catalogue: H53
// expect: wrong|runtime_error|violation|timeout|load_error
// says: Exports send, sendmsg, write, poll, recvmsg and _exit to stand before the judge's.
#include <stddef.h>
#include <string.h>
#include <sys/types.h>

ssize_t send(int fd, const void *data, size_t bytes, int flags)
{
    (void)fd, (void)data, (void)flags;
    return (ssize_t)bytes;
}

ssize_t sendmsg(int fd, const void *message, int flags)
{
    (void)fd, (void)message, (void)flags;
    return 64;
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    (void)fd, (void)data;
    return (ssize_t)bytes;
}

ssize_t recvmsg(int fd, void *message, int flags)
{
    (void)fd, (void)message, (void)flags;
    return 0;
}

int poll(void *set, unsigned long count, int timeout_ms)
{
    (void)set, (void)count, (void)timeout_ms;
    return 1;
}

void _exit(int status)
{
    (void)status;
    for (;;)
        ;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x;
    memset(y, 0, rows * cols * sizeof *y);
}
