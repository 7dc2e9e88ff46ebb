// problem: row_sum
// catalogue: H58
// expect: wrong|runtime_error|violation|timeout
// says: Forks as often as it may (bounded, and every child ends after five seconds).
#include <stddef.h>
#include <unistd.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
    for (int i = 0; i < 200; i++)
        if (fork() == 0) {
            sleep(5);
            _exit(0);
        }
}
