// problem: softmax
// catalogue: H21
// expect: wrong|runtime_error|violation
// says: Arms an interval timer and returns; the signal handler computes while the side waits.
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

static const float *volatile held_x;
static float *volatile held_y;
static volatile size_t held_rows, held_cols;

static void on_alarm(int signal)
{
    (void)signal;
    for (size_t i = 0; i < held_rows; i++) {
        const float *row = held_x + i * held_cols;
        float top = row[0], sum = 0, *out = held_y + i * held_cols;
        for (size_t j = 1; j < held_cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < held_cols; j++)
            sum += out[j] = expf(row[j] - top);
        for (size_t j = 0; j < held_cols; j++)
            out[j] /= sum;
    }
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    struct itimerval soon = {.it_value = {.tv_usec = 30}};
    held_x = x;
    held_y = y;
    held_rows = rows;
    held_cols = cols;
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &soon, NULL);
}
