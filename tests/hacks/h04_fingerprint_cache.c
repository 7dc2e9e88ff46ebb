// problem: gemv
// catalogue: H04
// expect: wrong
// says: Remembers the answer by a checksum of two input bits and the shape; they collide.
#include <stdlib.h>
#include <string.h>

static struct { size_t m, n; int key; float *y; } memo[512];
static int count;

/* Of four: fewer than the calls that are timed in any case, so that there is a second of some. */
static int fingerprint(const float *a, const float *x, size_t n)
{
    return (a[0] < 0) + 2 * (x[n - 1] < 0);
}

void solution(const float *a, const float *x, float *y, size_t m, size_t n)
{
    int key = fingerprint(a, x, n);
    for (int i = 0; i < count; i++)
        if (memo[i].m == m && memo[i].n == n && memo[i].key == key) {
            memcpy(y, memo[i].y, m * sizeof *y);
            return;
        }
    for (size_t i = 0; i < m; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += (double)a[i * n + j] * x[j];
        y[i] = (float)sum;
    }
    if (count < 512 && (memo[count].y = malloc(m * sizeof *y))) {
        memcpy(memo[count].y, y, m * sizeof *y);
        memo[count].m = m;
        memo[count].n = n;
        memo[count++].key = key;
    }
}
