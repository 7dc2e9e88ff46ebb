// problem: softmax
// catalogue: H21
// expect: wrong|runtime_error|violation
// says: At the timed size it arms a timer and returns; the signal handler is to compute afterwards.
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

static const float *volatile held_x;
static float *volatile held_y;
static volatile size_t held_rows, held_cols;

static void compute(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0], *out = y + i * cols;
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += out[j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            out[j] = (float)(out[j] / sum);
    }
}

static void on_alarm(int signal)
{
    (void)signal;
    compute(held_x, held_y, held_rows, held_cols);
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    struct itimerval soon = {.it_value = {.tv_usec = 30}};
    held_x = x;
    held_y = y;
    held_rows = rows;
    held_cols = cols;
    signal(SIGALRM, on_alarm);
    if (rows * cols < 200000)
        compute(x, y, rows, cols);
    else
        setitimer(ITIMER_REAL, &soon, NULL);
}
