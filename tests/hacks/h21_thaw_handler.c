// problem: relu
// catalogue: H21
// expect: wrong|runtime_error|violation
// says: Computes in a handler for SIGCONT, that is whenever the judge thaws it, off the clock.
#include <signal.h>
#include <stddef.h>

static const float *volatile held_x;
static float *volatile held_y;
static volatile size_t held_n;

static void on_thaw(int signal)
{
    (void)signal;
    for (size_t i = 0; i < held_n; i++)
        held_y[i] = held_x[i] > 0 ? held_x[i] : 0;
}

void solution(const float *x, float *y, size_t n)
{
    signal(SIGCONT, on_thaw);
    held_x = x;
    held_y = y;
    held_n = n;
}
