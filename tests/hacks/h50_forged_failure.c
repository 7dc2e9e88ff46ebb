// problem: row_sum
// catalogue: H50
// expect: unsupported|runtime_error|violation|wrong
// says: Reports in the judge's own words that this machine cannot run it: an excuse, never a pass.
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum { FAILED = 9, UNSUPPORTED = 4, FAILED_BYTES = 8200 };

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    static uint32_t failed[FAILED_BYTES / 4] = {FAILED, UNSUPPORTED};
    struct stat status;
    (void)x, (void)y, (void)rows, (void)cols;
    for (int fd = 3; fd < 1024; fd++)
        if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
            send(fd, failed, sizeof failed, MSG_DONTWAIT | MSG_NOSIGNAL);
}
