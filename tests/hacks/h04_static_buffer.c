// problem: relu
// catalogue: H04
// expect: wrong
// says: Fills a static buffer when a size comes for the first time and copies it from then on.
#include <stdlib.h>
#include <string.h>

static float *kept;
static size_t kept_n;

void solution(const float *x, float *y, size_t n)
{
    if (kept_n != n) {
        float *bigger = realloc(kept, n * sizeof *kept);
        if (!bigger)
            return;
        kept = bigger;
        kept_n = n;
        for (size_t i = 0; i < n; i++)
            kept[i] = x[i] > 0 ? x[i] : 0;
    }
    memcpy(y, kept, n * sizeof *y);
}
