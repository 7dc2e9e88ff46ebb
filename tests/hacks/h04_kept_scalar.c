// problem: clamp_i32
// catalogue: H04
// expect: wrong
// says: Keeps the bounds of its first call; scalars are drawn anew for every call as well.
#include <stddef.h>
#include <stdint.h>

static int32_t kept_low, kept_high;
static int known;

void solution(const int32_t *x, int32_t *y, int32_t low, int32_t high, size_t n)
{
    if (!known) {
        kept_low = low;
        kept_high = high;
        known = 1;
    }
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] < kept_low ? kept_low : x[i] > kept_high ? kept_high : x[i];
}
