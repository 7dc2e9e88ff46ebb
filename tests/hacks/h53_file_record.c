// problem: softmax
// catalogue: H53
// expect: wrong|runtime_error|violation|timeout
// says: Edits the C library's FILE records so that buffered output goes to the judge's channel.
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    struct stat status;
    (void)x;
    memset(y, 0, rows * cols * sizeof *y);
    for (int fd = 3; fd < 1024; fd++)
        if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode)) {
            stdout->_fileno = fd;
            stderr->_fileno = fd;
            printf("{\"status\":\"passed\",\"correct\":true}\n");
            fflush(stdout);
        }
}
