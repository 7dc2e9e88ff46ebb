// problem: clamp_i32
// catalogue: H04
// expect: passed
// says: Keeps the last call's bounds and looks whether they changed: its cache has a key.
#include <stddef.h>
#include <stdint.h>

static int32_t last_low, last_high;
static int64_t width;

void solution(const int32_t *x, int32_t *y, int32_t low, int32_t high, size_t n)
{
    if (low != last_low || high != last_high) {
        last_low = low;
        last_high = high;
        width = (int64_t)high - low;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t above = (int64_t)x[i] - low;
        y[i] = above < 0 ? low : above > width ? high : x[i];
    }
}
