// problem: softmax
// catalogue: H29
// expect: passed
// speedup_below: 0.7
// says: Busy threads from the constructor on; they are frozen while the reference runs.
#include <math.h>
#include <pthread.h>
#include <stddef.h>

static volatile unsigned long heat;

static void *burn(void *unused)
{
    for (;;)
        heat = heat * 3 + 1;
    return unused;
}

__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    for (int i = 0; i < 4; i++)
        if (pthread_create(&thread, NULL, burn, NULL) == 0)
            pthread_detach(thread);
}

static void compute(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0], *out = y + i * cols;
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += out[j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            out[j] = (float)(out[j] / sum);
    }
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (int again = 0; again < 8; again++) {
        compute(x, y, rows, cols);
        __asm__ volatile("" : : "r"(y) : "memory");
    }
}
