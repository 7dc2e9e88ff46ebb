// problem: row_sum
// catalogue: H50
// expect: load_error
// says: Says from a constructor, in the judge's own message, that a compiler refused it.
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct failed {
    uint32_t type, failure, layers, reserved;
    char text[8192];
};
enum { FAILED = 9, COMPILE_ERROR = 5 };

__attribute__((constructor)) static void report(void)
{
    static struct failed failed = {FAILED, COMPILE_ERROR, 0, 0,
                                   "\x1b]0;owned\x07the toolchain is broken \xe2\x80\xae!yltsenoH"};
    struct stat status;
    for (int fd = 3; fd < 1024; fd++)
        if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
            send(fd, &failed, sizeof failed, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
}
