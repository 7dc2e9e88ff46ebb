// problem: row_sum
// catalogue: H05
// expect: wrong|runtime_error|violation
// says: Asks a helper on an abstract socket (a survivor of an earlier run) for the answer.
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    static const char name[] = "\0row-sum-oracle";
    memcpy(address.sun_path, name, sizeof name - 1);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof name - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)cols;
    if (fd < 0)
        return;
    if (connect(fd, (struct sockaddr *)&address, bytes) != 0) {
        /* Nobody there: become the survivor for the next candidate. */
        if (bind(fd, (struct sockaddr *)&address, bytes) == 0)
            listen(fd, 1);
        return;
    }
    if (write(fd, x, 64) == 64 && read(fd, y, rows * sizeof *y) > 0)
        close(fd);
}
