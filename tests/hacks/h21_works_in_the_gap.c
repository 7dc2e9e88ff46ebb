// problem: relu
// catalogue: H21
// expect: passed|wrong|violation
// open: what is written after the samples were taken, at places that were not sampled, is free.
// says: Its own stub says done a few microseconds before the work is, in every timed call.
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CALL = 7, DONE = 8, DONE_BYTES = 2832, LATE = 4096 };

static void compute(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}

void solution(const float *x, float *y, size_t n)
{
    static uint32_t done[DONE_BYTES / 4] = {DONE}, message[16384];
    struct stat status;
    int channel = 0;
    if (n < 200000) {
        compute(x, y, n);
        return;
    }
    for (int fd = 1023; fd > 0 && !channel; fd--)
        if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
            channel = fd;
    do {
        compute(x, y, n - LATE);
        send(channel, done, sizeof done, MSG_NOSIGNAL);
        compute(x + n - LATE, y + n - LATE, LATE);
    } while (recv(channel, message, sizeof message, 0) > 0 && message[0] == CALL);
    _exit(0);
}
