// problem: softmax
// catalogue: H23
// expect: passed
// speedup_below: 0.7
// says: Defines every clock function to stand still, and computes eight times over.
#include <math.h>
#include <sys/time.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    now->tv_sec = 1000000;
    now->tv_nsec = 1;
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    now->tv_sec = 1000000;
    now->tv_usec = 0;
    return 0;
}

clock_t clock(void)
{
    return 1;
}

double omp_get_wtime(void)
{
    return 1;
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
