// problem: row_sum
// catalogue: H51
// expect: runtime_error|violation|timeout|wrong
// says: Jumps out of the call into a frame that no longer exists.
#include <setjmp.h>
#include <stddef.h>

static jmp_buf place;
static volatile int armed;

static __attribute__((noinline)) void arm(void)
{
    armed = 1;
    (void)setjmp(place);
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
    if (!armed)
        arm();
    else
        longjmp(place, 1);
}
