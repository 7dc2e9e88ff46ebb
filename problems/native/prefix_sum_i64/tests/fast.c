/* Chunks over threads: sums of chunks, their running sum, then each chunk from its start. A chunk
 * fits the cache, so that its second pass reads no memory, and eight elements scan in registers. */
#include <stddef.h>
#include <stdint.h>

#define CHUNK 16384
#define ROUND 64

static int64_t chunk_sum(const int64_t *x, size_t n)
{
    int64_t sum = 0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

static void chunk_scan(const int64_t *restrict x, int64_t *restrict y, size_t n, int64_t sum)
{
    size_t i = 0;

    for (; i + 4 <= n; i += 4) {
        int64_t two = x[i] + x[i + 1], three = two + x[i + 2], four = two + (x[i + 2] + x[i + 3]);
        y[i] = sum + x[i];
        y[i + 1] = sum + two;
        y[i + 2] = sum + three;
        sum += four;
        y[i + 3] = sum;
    }
    for (; i < n; i++) {
        sum += x[i];
        y[i] = sum;
    }
}

static size_t chunk_length(size_t n, size_t first)
{
    return n - first < CHUNK ? n - first : CHUNK;
}

void solution(const int64_t *restrict x, int64_t *restrict y, size_t n)
{
    int64_t carry = 0;

    for (size_t base = 0; base < n; base += (size_t)CHUNK * ROUND) {
        int64_t start[ROUND + 1] = {carry};
        size_t chunks = (n - base + CHUNK - 1) / CHUNK;
        chunks = chunks < ROUND ? chunks : ROUND;
#pragma omp parallel if (chunks > 1)
        {
#pragma omp for schedule(static)
            for (size_t k = 0; k < chunks; k++) {
                size_t first = base + k * CHUNK;
                start[k + 1] = chunk_sum(x + first, chunk_length(n, first));
            }
#pragma omp single
            for (size_t k = 0; k < chunks; k++)
                start[k + 1] += start[k];
#pragma omp for schedule(static)
            for (size_t k = 0; k < chunks; k++) {
                size_t first = base + k * CHUNK;
                chunk_scan(x + first, y + first, chunk_length(n, first), start[k]);
            }
        }
        carry = start[chunks];
    }
}
