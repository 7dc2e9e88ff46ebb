// problem: row_sum
// catalogue: H54
// expect: wrong|runtime_error|violation
// says: Right only if it may write one of the evaluator's files; it sees none of them.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int may_write(void)
{
    static const char *const names[] = {
        "problems/native/row_sum/problem.yaml",
        "problems/native/row_sum/reference.c",
        "../problems/native/row_sum/reference.c",
        "problem.yaml",
        "reference.c",
        "warpgym",
        "build/warpgym-child",
        "/proc/self/exe",
        "/etc/ld.so.preload",
        "/usr/lib/x86_64-linux-gnu/libm.so.6",
        "/etc/passwd",
    };
    char link[64];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int fd = open(names[i], O_WRONLY | O_CLOEXEC);
        if (fd >= 0)
            return 1;
    }
    snprintf(link, sizeof link, "/proc/%d/exe", (int)getppid());
    return open(link, O_WRONLY) >= 0;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    if (!may_write())
        return;
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}
