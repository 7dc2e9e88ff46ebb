/* Chunks over threads: the sums of a round of chunks, the running sum of those, then each chunk
 * from its start. A thread's part of a round stays in its cache from one pass to the next. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CHUNK 8192
#define ROUND 16

typedef int64_t vector __attribute__((vector_size(64)));

static int64_t chunk_sum(const int64_t *x, size_t n)
{
    int64_t sum = 0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

/* Three shifted additions scan eight elements in a register; only the carry is a chain. */
static void chunk_scan(const int64_t *restrict x, int64_t *restrict y, size_t n, int64_t sum)
{
    const vector zero = {0};
    vector carry = zero + sum;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        vector v;
        memcpy(&v, x + i, sizeof(v));
        v += __builtin_shufflevector(v, zero, 8, 0, 1, 2, 3, 4, 5, 6);
        v += __builtin_shufflevector(v, zero, 8, 8, 0, 1, 2, 3, 4, 5);
        v += __builtin_shufflevector(v, zero, 8, 8, 8, 8, 0, 1, 2, 3);
        vector total = __builtin_shufflevector(v, v, 7, 7, 7, 7, 7, 7, 7, 7);
        v += carry;
        carry += total;
        memcpy(y + i, &v, sizeof(v));
    }
    for (sum = carry[0]; i < n; i++) {
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
