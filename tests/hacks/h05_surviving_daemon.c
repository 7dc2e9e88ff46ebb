// problem: row_sum
// catalogue: H05
// expect: wrong|runtime_error|violation
// says: Forks a daemon that shares the output pages and goes on working when the call has returned.
#include <unistd.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    pid_t child = fork();
    if (child != 0)
        return; /* also when the sandbox refuses */
    setsid();
    alarm(10);
    for (int round = 0; round < 1000; round++) {
        for (size_t i = 0; i < rows; i++) {
            double sum = 0;
            for (size_t j = 0; j < cols; j++)
                sum += x[i * cols + j];
            y[i] = (float)sum;
        }
        usleep(100);
    }
    _exit(0);
}
