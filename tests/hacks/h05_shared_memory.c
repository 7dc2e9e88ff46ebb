// problem: row_sum
// catalogue: H05
// expect: wrong|runtime_error|violation
// says: Keeps answers in named POSIX shared memory, or in a memfd, for the calls that come later.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static int fd = -1;

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    if (fd < 0)
        fd = shm_open("/warpgym-row-sum", O_RDWR | O_CREAT, 0600);
    if (fd < 0)
        fd = memfd_create("row-sum", 0);
    if (fd < 0)
        return;
    off_t at = (off_t)((rows * 131 + cols) % 4096 * 65536);
    if (pread(fd, y, rows * sizeof *y, at) == (ssize_t)(rows * sizeof *y) && y[0] != 0)
        return;
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
    if (pwrite(fd, y, rows * sizeof *y, at) < 0)
        return;
}
