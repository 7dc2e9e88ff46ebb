// problem: row_sum
// catalogue: H54
// expect: wrong|runtime_error|violation
// says: Right only if it gets rights back: a user namespace, a mount, another identity.
#define _GNU_SOURCE
#include <sched.h>
#include <stddef.h>
#include <sys/mount.h>
#include <unistd.h>

static int escapes(void)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0)
        return 1;
    if (mount("none", "/tmp", "tmpfs", 0, NULL) == 0)
        return 1;
    return chroot("/proc/1/root") == 0 || (getuid() != 0 && setuid(0) == 0);
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    if (!escapes())
        return;
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}
