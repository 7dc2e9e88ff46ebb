// problem: row_sum
// catalogue: H58
// expect: wrong|runtime_error|violation|timeout
// says: Makes processes by bare system calls, clone without threads and clone3: refused.
#define _GNU_SOURCE
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    struct clone_args arguments = {.exit_signal = SIGCHLD};
    (void)x, (void)y, (void)rows, (void)cols;
    for (int i = 0; i < 100; i++) {
        long child = i % 2 ? syscall(SYS_clone3, &arguments, sizeof arguments)
                           : syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0) {
            sleep(5);
            _exit(0);
        }
    }
}
