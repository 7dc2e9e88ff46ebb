// problem: row_sum
// catalogue: H55
// expect: wrong|runtime_error|violation
// says: Right only if it finds a file worth reading: cases, sources, other processes.
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>

static int finds_files(void)
{
    static const char *const files[] = {
        "problem.yaml",   "reference.c",  "../problem.yaml", "tests/fast.c",
        "/etc/passwd",    "/etc/hostname", "/proc/2/environ", "/proc/2/maps",
        "/proc/1/root/etc/passwd", "/proc/kcore", "/var/cache/warpgym",
    };
    static const char *const folders[] = {"/home", "/etc", "/var", "/usr/share", "/boot"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (open(files[i], O_RDONLY | O_CLOEXEC) >= 0)
            return 1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (opendir(folders[i]))
            return 1;
    return 0;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    if (!finds_files())
        return;
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}
