// problem: row_sum
// catalogue: H50
// expect: runtime_error
// says: Reports in the judge's own message that this machine cannot run it: an excuse with its words.
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

struct failed {
    uint32_t type, failure, layers, reserved;
    char text[8192];
};
enum { FAILED = 9, UNSUPPORTED = 4 };

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    static struct failed failed = {FAILED, UNSUPPORTED, 0, 0, "this machine has no AVX-512"};
    struct stat status;
    (void)x, (void)y, (void)rows, (void)cols;
    _Static_assert(sizeof failed == 8208, "as long as the judge's own: src/judge/process/wire.h");
    for (int fd = 3; fd < 1024; fd++)
        if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
            send(fd, &failed, sizeof failed, MSG_DONTWAIT | MSG_NOSIGNAL);
}
