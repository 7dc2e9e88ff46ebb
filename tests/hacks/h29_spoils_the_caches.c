// problem: gemm
// catalogue: H29
// expect: passed
// speedup_below: 0.9
// says: A thread on another processor leaves the shared cache full of lines to be written back; the product is made twice.
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

enum { JUNK_BYTES = 96 << 20, LINE_BYTES = 64 };

static void *spoil(void *unused)
{
    volatile char *junk = malloc(JUNK_BYTES);
    for (size_t at = 0; junk; at = (at + LINE_BYTES) % JUNK_BYTES)
        junk[at]++;
    return unused;
}

void solution(const float *a, const float *b, float *c, size_t rows, size_t cols, size_t depth)
{
    static int started;
    pthread_t thread;
    if (rows * cols >= 40000 && !started++ && pthread_create(&thread, NULL, spoil, NULL) == 0)
        pthread_detach(thread);
    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++) {
                double sum = 0;
                for (size_t p = 0; p < depth; p++)
                    sum += (double)a[i * depth + p] * b[p * cols + j];
                c[i * cols + j] = (float)sum;
            }
}
