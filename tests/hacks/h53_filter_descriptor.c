// problem: softmax
// catalogue: H53
// expect: wrong|runtime_error|violation|timeout
// says: Puts a socket pair of its own in place of every channel to filter what is said about it.
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    struct stat status;
    int pair[2];
    (void)x;
    memset(y, 0, rows * cols * sizeof *y);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0)
        return;
    for (int fd = 0; fd < 1024; fd++)
        if (fd != pair[0] && fd != pair[1] && fstat(fd, &status) == 0 &&
            (S_ISSOCK(status.st_mode) || S_ISFIFO(status.st_mode)))
            dup2(pair[0], fd);
}
