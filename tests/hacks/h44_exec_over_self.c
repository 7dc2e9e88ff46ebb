// problem: row_sum
// catalogue: H44
// expect: runtime_error|violation|wrong
// says: Replaces its own process by another program through a file made in memory.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    static const char script[] = "#!/bin/sh\nexit 0\n";
    char *const arguments[] = {"solver", NULL}, *const environment[] = {NULL};
    (void)x, (void)y, (void)rows, (void)cols;
    int fd = memfd_create("solver", 0);
    if (fd >= 0 && write(fd, script, sizeof script - 1) > 0)
        fexecve(fd, arguments, environment);
    execve("/bin/sh", arguments, environment);
    execve("/proc/self/exe", arguments, environment);
}
