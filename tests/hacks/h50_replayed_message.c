// problem: row_sum
// catalogue: H50
// expect: wrong|runtime_error|violation|timeout
// says: Steals the next call from the judge's socket, answers it itself and skips the work.
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    struct stat status;
    char message[4096];
    (void)x, (void)cols;
    memset(y, 0, rows * sizeof *y);
    for (int fd = 0; fd < 1024; fd++)
        if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode)) {
            ssize_t bytes = recv(fd, message, sizeof message, MSG_DONTWAIT);
            if (bytes > 0)
                send(fd, message, (size_t)bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
}
