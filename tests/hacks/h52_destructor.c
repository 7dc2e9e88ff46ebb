// problem: relu
// catalogue: H52
// expect: wrong|runtime_error|violation
// says: A destructor of the shared object writes the timed outputs when the library is unloaded.
#include <stddef.h>

static const float *held_x;
static float *held_y;
static size_t held_n;

__attribute__((destructor)) static void finish(void)
{
    for (size_t i = 0; i < held_n; i++)
        held_y[i] = held_x[i] > 0 ? held_x[i] : 0;
}

void solution(const float *x, float *y, size_t n)
{
    held_x = x;
    held_y = y;
    held_n = n;
    if (n < 200000)
        finish();
}
