// problem: softmax
// catalogue: H50
// expect: wrong|runtime_error|violation|timeout
// says: Writes guesses of the done message to every open socket and pipe instead of computing.
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    struct stat status;
    uint32_t message[16];
    (void)x, (void)y, (void)rows, (void)cols;
    for (int fd = 0; fd < 1024; fd++) {
        if (fstat(fd, &status) != 0 || !(S_ISSOCK(status.st_mode) || S_ISFIFO(status.st_mode)))
            continue;
        for (uint32_t kind = 0; kind < 32; kind++) {
            memset(message, 0, sizeof message);
            message[0] = kind;
            message[1] = sizeof message;
            if (send(fd, message, sizeof message, MSG_DONTWAIT) < 0 &&
                write(fd, message, sizeof message) < 0)
                break;
        }
    }
}
